// The sizes of a convolution of few_channels.h, and its padded images. For few_channels*.cpp.
// Threads: values and pure functions. Fails: never.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/kernel/conv/conv.h"
#include "weft/kernel/conv/few/few_channels_loops.h"

namespace weft::few_channels {

// Where the pixel of each value of a filter [C, kh, kw] lies in padded planes of such rows, from
// that of the first.
inline std::vector<std::int64_t> window_taps(const Shape& weight, const Pair& dilation,
                                             std::int64_t height, std::int64_t width) {
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(weight[1] * weight[2] * weight[3]));
  for (std::int64_t c = 0; c < weight[1]; ++c) {
    for (std::int64_t i = 0; i < weight[2]; ++i) {
      const std::int64_t row = (c * height + i * dilation[0]) * width;
      for (std::int64_t j = 0; j < weight[3]; ++j) result.push_back(row + j * dilation[1]);
    }
  }
  return result;
}

// The sizes of one convolution.
struct Plan {
  Plan(const Shape& x_shape, const Shape& weight, const Conv2dGeometry& given)
      : x(x_shape),
        y(conv2d_shape(x_shape, weight, given)),
        geometry(given),
        depth(weight[1] * weight[2] * weight[3]),
        height(x[2] + 2 * given.padding[0]),
        width(x[3] + 2 * given.padding[1]) {}

  std::int64_t padded_floats() const { return x[1] * height * width; }
  // Results of one filter, those between two rows included.
  std::int64_t positions() const { return (y[2] - 1) * width + y[3]; }
  std::int64_t y_step() const { return positions() + kFewChannelsSlack; }

  std::vector<std::int64_t> taps(const Shape& weight) const {
    return window_taps(weight, geometry.dilation, height, width);
  }

  Shape x;
  Shape y;
  Conv2dGeometry geometry;
  std::int64_t depth;
  std::int64_t height;  // of the padded image
  std::int64_t width;
};

// Into an image whose padding is 0 already.
inline void pad_planes(const Plan& plan, const float* image, float* padded) {
  float* to = padded + plan.geometry.padding[0] * plan.width + plan.geometry.padding[1];
  for (std::int64_t c = 0; c < plan.x[1]; ++c) {
    for (std::int64_t i = 0; i < plan.x[2]; ++i) {
      std::copy_n(image, plan.x[3], to + i * plan.width);
      image += plan.x[3];
    }
    to += plan.height * plan.width;
  }
}

}  // namespace weft::few_channels
