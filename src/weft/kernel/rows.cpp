#include "weft/kernel/rows.h"

#include <stdexcept>
#include <string>

namespace weft {

const RowKernels& row_kernels() {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return has_avx2 ? kRowKernelsAvx2 : kRowKernelsGeneric;
#else
  return kRowKernelsGeneric;
#endif
}

std::size_t float_index(const char* kernel, DType dtype) {
  if (dtype == DType::kF32) return 0;
  if (dtype == DType::kF64) return 1;
  throw std::invalid_argument(std::string("[") + kernel + "] expected f32 or f64 values, got " +
                              std::string(to_string(dtype)));
}

}  // namespace weft
