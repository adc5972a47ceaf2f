#include "weft/array/map.h"

#include <string>

#include "weft/array/bad_argument.h"

namespace weft::internal {

Shape check_map(const char* name, std::initializer_list<const Array*> operands) {
  const Array& first = **operands.begin();
  Shape shape = first.shape();
  for (const Array* const operand : operands) {
    if (!operand->defined()) throw_bad_argument(name, "an array", "an undefined one");
    if (!is_floating(operand->dtype())) {
      throw_bad_argument(name, "f32, f64, bf16 or f16 values",
                         std::string(to_string(operand->dtype())));
    }
    if (operand->dtype() != first.dtype()) {
      throw_bad_argument(name, "operands of one type",
                         std::string(to_string(first.dtype())) + " and " +
                             std::string(to_string(operand->dtype())));
    }
    if (operand->shape() != shape) shape = broadcast_shapes(shape, operand->shape());
  }
  return shape;
}

}  // namespace weft::internal
