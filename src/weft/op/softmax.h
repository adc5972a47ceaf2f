// softmax and its logarithm along one axis, stable for any finite input.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// `axis` may be negative; std::invalid_argument if x has no such axis.
Tensor softmax(const Tensor& x, int axis);
Tensor log_softmax(const Tensor& x, int axis);

}  // namespace weft
