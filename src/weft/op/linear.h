// linear: the fully connected layer.
#pragma once

#include "weft/autograd/tensor.h"
#include "weft/op/activation.h"

namespace weft {

// x [..., in], weight [out, in], bias [out] or undefined -> x weight^T + bias, [..., out], with
// the activation applied. f32 or f64. Throws std::invalid_argument where shapes do not fit.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              Activation activation = Activation::kNone);

}  // namespace weft
