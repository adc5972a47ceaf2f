// Pooling over images and sequences: the largest value or the mean of windows; and the way back,
// images at a larger size.
//
// Images are x [N, C, H, W] -> [N, C, H', W'], sequences [N, C, L] -> [N, C, L'].
// H' = (H + 2 padding - kernel) / stride + 1, rounded down, or up with ceil_mode (then the last
// window begins on the image or the padding before it). Padding is at most half the kernel.
// bf16 and f16 are computed in f32. All throw std::invalid_argument.
#pragma once

#include <cstdint>

#include "weft/array/pair.h"
#include "weft/autograd/tensor.h"

namespace weft {

// Pairs are {height, width}. A stride of 0 means the kernel's size.
struct Pool2dOptions {
  Pair kernel = 2;
  Pair stride = 0;
  Pair padding = 0;
  bool ceil_mode = false;
  // For means: padding counts as zeros (PyTorch's default), otherwise it does not count.
  bool count_include_pad = true;
};
struct Pool1dOptions {
  std::int64_t kernel = 2;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
};

// A blocked input gives a blocked output.
// The largest value of each window; padding never wins. The gradient goes to the first of equal
// values.
Tensor max_pool2d(const Tensor& x, const Pool2dOptions& options);
// The mean of each window.
Tensor avg_pool2d(const Tensor& x, const Pool2dOptions& options);
Tensor max_pool1d(const Tensor& x, const Pool1dOptions& options);
Tensor avg_pool1d(const Tensor& x, const Pool1dOptions& options);

// `size` windows {down, across} that cover the image: window i of n over H pixels is
// [floor(i H / n), ceil((i + 1) H / n)).
Tensor adaptive_avg_pool2d(const Tensor& x, const Pair& size);
Tensor adaptive_max_pool2d(const Tensor& x, const Pair& size);
Tensor adaptive_avg_pool1d(const Tensor& x, std::int64_t size);
Tensor adaptive_max_pool1d(const Tensor& x, std::int64_t size);
// The whole image: [N, C, 1, 1].
Tensor global_avg_pool2d(const Tensor& x);
Tensor global_max_pool2d(const Tensor& x);

enum class UpsampleMode : std::uint8_t { kNearest, kBilinear };
struct Upsample2dOptions {
  Pair size = 1;  // {height, width} of the result
  UpsampleMode mode = UpsampleMode::kNearest;
  // For bilinear: the centres of the corner pixels keep their places; otherwise the edges of the
  // image do.
  bool align_corners = false;
};
// x [N, C, H, W] -> [N, C, size]; smaller ones too.
Tensor upsample2d(const Tensor& x, const Upsample2dOptions& options);

}  // namespace weft
