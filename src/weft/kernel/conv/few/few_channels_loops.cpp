// The loops of few_channels.h, compiled once for each instruction set.
#include "weft/kernel/conv/few/few_channels_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kVec = WEFT_LANES;
// Sums of so many outputs and registers of pixels are kept: with 16 registers 12 sums, 2 registers
// of pixels and a weight are 15. AVX-512 has 32: 24 sums, 4 of pixels and a weight.
constexpr int kOutputs = 6;
constexpr int kVecs = kVec == 16 ? 4 : 2;
static_assert(kVecs * kVec <= kFewChannelsSlack);

// kCount outputs from the given pass's first one on, at kRun registers of positions from p on.
template <int kCount, int kRun>
void convolve_tile(const FewChannelsPass& pass, std::int64_t p) {
  Vec sum[kCount][kRun] = {};
  const float* weight[kCount];
#pragma GCC unroll 6
  for (int o = 0; o < kCount; ++o) weight[o] = pass.weight + o * pass.depth;
  const float* const x = pass.x + p;
  for (std::int64_t k = 0; k < pass.depth; ++k) {
    const float* const from = x + pass.taps[k];
    Vec pixels[kRun];
#pragma GCC unroll 4
    for (int v = 0; v < kRun; ++v) pixels[v] = load(from + v * kVec);
#pragma GCC unroll 6
    for (int o = 0; o < kCount; ++o) {
      const Vec w = weight[o][k] - Vec{};  // in every lane
#pragma GCC unroll 4
      for (int v = 0; v < kRun; ++v) sum[o][v] = w * pixels[v] + sum[o][v];
    }
  }
#pragma GCC unroll 6
  for (int o = 0; o < kCount; ++o) {
    const Vec bias = (pass.bias != nullptr ? pass.bias[o] : 0.0F) - Vec{};
#pragma GCC unroll 4
    for (int v = 0; v < kRun; ++v) {
      const Vec value = sum[o][v] + bias;
      store(pass.y + o * pass.y_step + p + v * kVec, pass.relu ? positive(value) : value);
    }
  }
}

// `run` <= kRun registers of positions.
template <int kCount, int kRun>
void any_tile(const FewChannelsPass& pass, std::int64_t p, std::int64_t run) {
  if (run >= kRun) {
    convolve_tile<kCount, kRun>(pass, p);
  } else if constexpr (kRun > 1) {
    any_tile<kCount, kRun - 1>(pass, p, run);
  }
}

// `count` <= kCount outputs at all positions.
template <int kCount>
void any_outputs(const FewChannelsPass& pass, std::int64_t count) {
  if (count == kCount) {
    for (std::int64_t p = 0; p < pass.positions; p += kVecs * kVec) {
      any_tile<kCount, kVecs>(pass, p, (pass.positions - p + kVec - 1) / kVec);
    }
  } else if constexpr (kCount > 1) {
    any_outputs<kCount - 1>(pass, count);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
void convolve(const FewChannelsPass& given) {
  FewChannelsPass pass = given;
  for (std::int64_t left = given.outputs; left > 0;) {
    const std::int64_t groups = (left + kOutputs - 1) / kOutputs;
    const std::int64_t count = (left + groups - 1) / groups;
    any_outputs<kOutputs>(pass, count);
    pass.weight += count * pass.depth;
    if (pass.bias != nullptr) pass.bias += count;
    pass.y += count * pass.y_step;
    left -= count;
  }
}

using Lanes [[gnu::vector_size(4 * kFewChannelsLanes)]] = float;

inline Lanes load_lanes(const float* from) {
  Lanes value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
inline void store_lanes(float* to, const Lanes& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// With 16 registers 12 sums, 2 of gradients and one of pixels are 15.
constexpr int kGradientOutputs = 2;
constexpr int kGradientTaps = 6;

// kCount outputs from the pass's first one on and kTaps values of a filter from its first one on.
template <int kCount, int kTaps>
void gradient_tile(const FewChannelsGradientPass& pass, std::int64_t first) {
  Lanes sum[kCount][kTaps];
  float* sums[kCount];
  const float* from[kTaps];
#pragma GCC unroll 6
  for (int t = 0; t < kTaps; ++t) from[t] = pass.x + pass.taps[first + t];
#pragma GCC unroll 2
  for (int o = 0; o < kCount; ++o) {
    sums[o] = pass.sums + (o * pass.depth + first) * kFewChannelsLanes;
#pragma GCC unroll 6
    for (int t = 0; t < kTaps; ++t) sum[o][t] = load_lanes(sums[o] + t * kFewChannelsLanes);
  }
  const std::int64_t positions = pass.positions;
  for (std::int64_t p = 0; p < positions; p += kFewChannelsLanes) {
    Lanes g[kCount];
#pragma GCC unroll 2
    for (int o = 0; o < kCount; ++o) g[o] = load_lanes(pass.g + o * pass.g_step + p);
#pragma GCC unroll 6
    for (int t = 0; t < kTaps; ++t) {
      const Lanes pixels = load_lanes(from[t] + p);
#pragma GCC unroll 2
      for (int o = 0; o < kCount; ++o) sum[o][t] = pixels * g[o] + sum[o][t];
    }
  }
#pragma GCC unroll 2
  for (int o = 0; o < kCount; ++o) {
#pragma GCC unroll 6
    for (int t = 0; t < kTaps; ++t) store_lanes(sums[o] + t * kFewChannelsLanes, sum[o][t]);
  }
}

// `count` <= kTaps values of a filter.
template <int kCount, int kTaps>
void any_gradient_taps(const FewChannelsGradientPass& pass, std::int64_t first,
                       std::int64_t count) {
  if (count == kTaps) {
    gradient_tile<kCount, kTaps>(pass, first);
  } else if constexpr (kTaps > 1) {
    any_gradient_taps<kCount, kTaps - 1>(pass, first, count);
  }
}

template <int kCount>
void all_gradient_taps(const FewChannelsGradientPass& pass) {
  for (std::int64_t t = 0; t < pass.depth;) {
    const std::int64_t left = pass.depth - t;
    const std::int64_t groups = (left + kGradientTaps - 1) / kGradientTaps;
    const std::int64_t count = (left + groups - 1) / groups;
    any_gradient_taps<kCount, kGradientTaps>(pass, t, count);
    t += count;
  }
}

void weight_sums(const FewChannelsGradientPass& given) {
  FewChannelsGradientPass pass = given;
  for (std::int64_t left = given.outputs; left > 0; left -= kGradientOutputs) {
    if (left >= kGradientOutputs) {
      all_gradient_taps<kGradientOutputs>(pass);
    } else {
      all_gradient_taps<1>(pass);
    }
    pass.g += kGradientOutputs * pass.g_step;
    pass.sums += kGradientOutputs * pass.depth * kFewChannelsLanes;
  }
}

}  // namespace

extern const FewChannelsLoops WEFT_LOOPS_NAME(few_channels_loops) = {convolve, weight_sums};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
