// conv2d: convolution over images (cross-correlation, as in every framework).
#pragma once

#include <array>
#include <cstdint>

#include "weft/autograd/tensor.h"
#include "weft/op/activation.h"

namespace weft {

// Pairs are {height, width}.
struct Conv2dOptions {
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};
  std::array<std::int64_t, 2> dilation = {1, 1};
  std::int64_t groups = 1;
  Activation activation = Activation::kNone;
};

// x [N, C, H, W], weight [O, C / groups, kh, kw], bias [O] or undefined -> [N, O, H', W'] with
// H' = (H + 2 padding - dilation (kh - 1) - 1) / stride + 1. f32 or f64. The f32 result may be
// blocked, so that the next convolution or pooling reads it without a reorder.
// Throws std::invalid_argument where shapes do not fit or the window is larger than the image.
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const Conv2dOptions& options = {});

}  // namespace weft
