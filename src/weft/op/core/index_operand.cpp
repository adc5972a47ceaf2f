#include "weft/op/index_operand.h"

#include "weft/op/core/operands.h"

namespace weft {

Array IndexOperand::indexes(const char* op, const std::string& what) const {
  if (!defined()) throw_operand(op, "i64 " + what, "none");
  const DType dtype = array_.dtype();
  if (!is_integer(dtype) || dtype == DType::kBool) {
    throw_operand(op, "i64 " + what, std::string(to_string(dtype)));
  }
  return array_.to(DType::kI64).contiguous();
}

const Array& IndexOperand::mask(const char* op) const {
  if (!defined()) throw_operand(op, "a bool mask", "none");
  if (array_.dtype() != DType::kBool) {
    throw_operand(op, "a bool mask", std::string(to_string(array_.dtype())));
  }
  return array_;
}

void check_holds(const char* op, DType dtype, double value) {
  if (is_floating(dtype)) return;
  const double held = with_dtype(dtype, [value](auto zero) -> double {
    return convert_value<double>(convert_value<decltype(zero)>(value));
  });
  if (held != value) {
    throw_operand(op, "a value that " + std::string(to_string(dtype)) + " holds",
                  std::to_string(value));
  }
}

void check_adds(const char* op, DType dtype) {
  if (dtype == DType::kBool) throw_operand(op, "numbers", "bool");
}

}  // namespace weft
