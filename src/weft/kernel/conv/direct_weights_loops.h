// The inner loops of direct_weights.h, one build for each instruction set. Those with fused
// multiplications give the same bits.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Products of the pixels of one image with the gradients of up to 2 blocks of 8 outputs.
struct DirectWeightsPass {
  // The value that meets the gradient at (row i, column j) for tap t of the filter:
  // x[taps[t] + i * row_step + j * column_step].
  const float* x;
  const std::int64_t* taps;
  std::int64_t tap_count;
  std::int64_t row_step;
  std::int64_t column_step;
  // gradients[block * block_step + (i * width + j) * 8 + lane].
  const float* gradients;
  std::int64_t block_step;
  std::int64_t blocks;  // 1 or 2
  std::int64_t rows;
  std::int64_t width;
  // Adds to sums[t * 16 + block * 8 + lane].
  float* sums;
  // As many values from each of these on are read soon, by the next pass: fetched meanwhile.
  const float* ahead[4];
};

struct DirectWeightsLoops {
  void (*weight_sums)(const DirectWeightsPass& pass);
  // g = dy where y > 0 (everywhere if y is null), for `pixels` of 8 outputs; adds g to bias_sums.
  struct Mask {
    const float* dy;
    const float* y;
    std::int64_t pixels;
  };
  void (*mask)(const Mask& mask, float* g, float* bias_sums);
};

WEFT_LOOPS(DirectWeightsLoops, direct_weights_loops)

}  // namespace weft
