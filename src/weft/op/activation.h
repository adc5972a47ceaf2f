// Activations, and those that linear and conv2d can fuse.
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

// The activation that linear and conv2d apply to their result in the same pass over memory.
enum class Activation : std::uint8_t { kNone, kRelu };

// max(x, 0); the gradient at 0 is 0. A blocked input gives a blocked output.
Tensor relu(const Tensor& x);
// max(a + b, 0) for operands of one shape. A blocked operand gives a blocked output.
Tensor add_relu(const Tensor& a, const Tensor& b);

enum class GeluForm : std::uint8_t { kErf, kTanh };
// x Phi(x), with the normal distribution function Phi; kTanh is the usual approximation of it.
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::kErf);
// x sigmoid(x).
Tensor silu(const Tensor& x);
// log(1 + e^(beta x)) / beta; x itself where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
// log(sigmoid(x)), finite for any x.
Tensor log_sigmoid(const Tensor& x);
// x tanh(softplus(x)).
Tensor mish(const Tensor& x);
// x / (1 + |x|).
Tensor softsign(const Tensor& x);
// x, below 0: slope x; alpha (e^x - 1).
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1.0);
// x between low and high, else the nearer of them; the gradient at the ends is 0.
Tensor hardtanh(const Tensor& x, double low = -1.0, double high = 1.0);

}  // namespace weft
