// A pooling to maxima, of any windows, as an operation. For op/conv/*max_pool2d_op.cpp.
#pragma once

#include <functional>

#include "weft/kernel/pool/pool.h"
#include "weft/op/core/op_def.h"

namespace weft {

struct MaxPoolKernels {
  // Names of the operation and of its gradient; literals.
  const char* name = nullptr;
  const char* gradient_name = nullptr;
  // Whether forward and backward take the x of bf16 that is pooled as it is.
  bool take_bf16 = false;
  std::function<MaxPoolOutput(const Array& x, bool with_winners)> forward;
  std::function<Array(const Array& dy, const MaxPoolOutput& forward)> backward;
  // The transpose of `backward`.
  std::function<Array(const Array& dx, const MaxPoolOutput& forward)> take;
};

// The pooling of `x`, recorded. f16, and bf16 that the kernels do not take, go through
// f32, exactly; what is kept has the 16-bit type.
Tensor max_pooling(const Tensor& x, const MaxPoolKernels& kernels);

}  // namespace weft
