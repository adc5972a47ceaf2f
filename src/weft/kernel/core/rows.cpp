#include "weft/kernel/core/rows.h"

#include <stdexcept>
#include <string>

namespace weft {

std::size_t float_index(const char* kernel, DType dtype) {
  if (dtype == DType::kF32) return 0;
  if (dtype == DType::kF64) return 1;
  throw std::invalid_argument(std::string("[") + kernel + "] expected f32 or f64 values, got " +
                              std::string(to_string(dtype)));
}

std::size_t stored_index(DType dtype) {
  WEFT_CHECK(is_floating(dtype));
  if (dtype == DType::kBF16) return 2;
  if (dtype == DType::kF16) return 3;
  return dtype == DType::kF64 ? 1 : 0;
}

}  // namespace weft
