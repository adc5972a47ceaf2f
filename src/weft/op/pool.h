// max_pool2d, avg_pool2d: pooling over images.
#pragma once

#include <array>
#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

// Pairs are {height, width}. A stride of 0 means the kernel's size.
struct Pool2dOptions {
  std::array<std::int64_t, 2> kernel = {2, 2};
  std::array<std::int64_t, 2> stride = {0, 0};
  std::array<std::int64_t, 2> padding = {0, 0};
};

// x [N, C, H, W] -> [N, C, H', W'], H' = (H + 2 padding - kernel) / stride + 1. A blocked input
// gives a blocked output. Padding is at most half the kernel. Throws std::invalid_argument.
// The largest value of each window; padding never wins. The gradient goes to the first of equals.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);
// The mean of each window, padding counted as zeros (PyTorch's default).
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);

}  // namespace weft
