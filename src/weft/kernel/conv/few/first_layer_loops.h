// The inner loops of first_layer.h, one build for each instruction set. Those with fused
// multiplications give the same bits.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Filters of a panel, and of a block of results.
inline constexpr std::int64_t kFirstLayerPanel = 16;
inline constexpr std::int64_t kFirstLayerBlock = 8;

// The sums over k of weights[filter / 16 * weights_next + k * 16 + filter % 16] * x[taps[k] + pixel
// * stride] for one panel of filters, or for as many as FirstLayerLoops::panels.
struct FirstLayerSums {
  const float* x;
  const std::int64_t* taps;
  std::int64_t depth;
  std::int64_t stride;
  const float* weights;
  std::int64_t weights_next;
  std::int64_t panels;
};

// A row of results: y[filter / 8 * block_step + pixel * 8 + filter % 8] = sum + bias[filter].
template <class T>
struct FirstLayerRow {
  FirstLayerSums sums;
  const float* bias;
  bool relu;
  std::int64_t pixels;
  T* y;
  std::int64_t block_step;
  std::int64_t blocks;  // that are written
};

struct FirstLayerLoops {
  // Panels that a row takes at most: one or two.
  std::int64_t panels;
  void (*convolve)(const FirstLayerRow<float>& row);
  // The results rounded to bf16.
  void (*convolve_to_bf16)(const FirstLayerRow<std::uint16_t>& row);
};

WEFT_LOOPS(FirstLayerLoops, first_layer_loops)

}  // namespace weft
