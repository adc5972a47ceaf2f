#include "weft/array/dtype/dtype.h"

#include <ostream>
#include <stdexcept>
#include <string>

namespace weft {

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_floating(a) != is_floating(b)) return is_floating(a) ? a : b;
  if (is_floating(a)) return a == DType::kF64 || b == DType::kF64 ? DType::kF64 : DType::kF32;
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return DType::kI32;  // u8 and i8
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      return "u8";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kI8:
      return "i8";
    case DType::kI32:
      return "i32";
    case DType::kBool:
      break;
  }
  return "bool";
}

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

namespace internal {
void throw_not_floating(DType dtype) {
  throw std::invalid_argument("[dtype] expected f32, f64, bf16 or f16 values, got " +
                              std::string(to_string(dtype)));
}
}  // namespace internal

}  // namespace weft
