// The inner loops of few_channels.h, one build for each instruction set. Those with fused
// multiplications give the same bits.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Loops read and write up to so many floats behind the last position.
inline constexpr std::int64_t kFewChannelsSlack = 64;

// y[o * y_step + p] = bias[o] + sum over k of weight[o * depth + k] * x[taps[k] + p].
struct FewChannelsPass {
  const float* x;
  const std::int64_t* taps;
  const float* weight;
  std::int64_t depth;
  const float* bias;  // may be null
  bool relu;
  std::int64_t outputs;
  std::int64_t positions;
  float* y;
  std::int64_t y_step;  // at least positions + kFewChannelsSlack
};

// Sums of eight lanes, so that they have the same bits with any registers.
inline constexpr std::int64_t kFewChannelsLanes = 8;

// sums[(o * depth + k) * 8 + p % 8] += x[taps[k] + p] * g[o * g_step + p] for each position.
struct FewChannelsGradientPass {
  const float* x;
  const std::int64_t* taps;
  std::int64_t depth;
  const float* g;
  std::int64_t g_step;
  std::int64_t outputs;
  std::int64_t positions;  // a multiple of 8
  float* sums;
};

struct FewChannelsLoops {
  void (*convolve)(const FewChannelsPass& pass);
  void (*weight_sums)(const FewChannelsGradientPass& pass);
};

WEFT_LOOPS(FewChannelsLoops, few_channels_loops)

}  // namespace weft
