#include "core/autocast.h"

#include "weft/op/arithmetic.h"

namespace weft::python {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a setting of the thread.
thread_local constinit DType low_type = DType::kF32;

}  // namespace

DType autocast_type() { return low_type; }
void set_autocast_type(DType dtype) { low_type = dtype; }

Tensor lowered(const Tensor& x) {
  if (low_type == DType::kF32 || !x.defined() || x.dtype() != DType::kF32) return x;
  return cast(x, low_type);
}

Tensor widened(const Tensor& x) {
  if (low_type == DType::kF32 || !x.defined() || !is_half(x.dtype())) return x;
  return cast(x, DType::kF32);
}

}  // namespace weft::python
