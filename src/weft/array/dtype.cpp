#include "weft/array/dtype.h"

namespace weft {

std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF64:
      return "f64";
    case DType::kI64:
      return "i64";
    case DType::kU8:
      break;
  }
  return "u8";
}

}  // namespace weft
