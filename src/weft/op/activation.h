// Activations of their own and those that linear and conv2d can fuse.
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

// What linear and conv2d apply to their result in the same pass over memory.
enum class Activation : std::uint8_t { kNone, kRelu };

// max(x, 0); the gradient at 0 is 0. A blocked input gives a blocked output.
Tensor relu(const Tensor& x);

}  // namespace weft
