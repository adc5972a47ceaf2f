// The loops of direct_weights.h, compiled once for each instruction set.
#include "weft/kernel/conv/direct_weights_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

constexpr std::int64_t kLanes = 8;

// A block of 8 outputs, and the two of a pass, which take one register of 16 lanes.
using Block [[gnu::vector_size(4 * kLanes)]] = float;
using Pair [[gnu::vector_size(8 * kLanes)]] = float;
constexpr bool kPairs = WEFT_LANES == 16;

// Sums of so many taps stay in registers: with 16 registers 12 sums, 2 gradients and a value are
// 15. AVX-512 has 32: 14 sums make two passes of the 27 taps of images of 3 channels, and the
// values are read from memory by the multiplication itself.
constexpr int kTapsMax = kPairs ? 14 : 6;

template <class V>
inline V load(const float* from) {
  V value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class V>
inline void store(float* to, const V& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// Register v of a pixel's gradients.
template <class V>
inline void load_gradient(const float* from, std::int64_t block_step, int v, V& value) {
  if constexpr (sizeof(V) == sizeof(Block)) {
    value = load<V>(from + v * block_step);
  } else {
    value = __builtin_shufflevector(load<Block>(from), load<Block>(from + block_step), 0, 1, 2, 3,
                                    4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}

// Some taps of a pass, from `first` on, and what is fetched meanwhile.
struct Taps {
  std::int64_t first;
  std::int64_t count;
  const float* ahead[2];
};

// sum += the products of one pixel, whose values for tap t are from[t][at].
template <int kTaps, class V, int kVecs>
inline void add_pixel(const float* const (&from)[kTaps], std::int64_t at, const float* gradient,
                      std::int64_t block_step, V (&sum)[kTaps][kVecs]) {
  V g[kVecs];
#pragma GCC unroll 2
  for (int v = 0; v < kVecs; ++v) load_gradient(gradient, block_step, v, g[v]);
#pragma GCC unroll 14
  for (int t = 0; t < kTaps; ++t) {
    const V x = from[t][at] - V{};  // in every lane
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[t][v] = x * g[v] + sum[t][v];
  }
}

// Sums of kTaps taps stay in registers for the whole pass: every loop over them is unrolled,
// because an array with a variable index would live in memory. Two pixels at a time read two
// gradients of 8 floats, which are as much as is fetched at a time.
template <int kTaps, class V, int kVecs>
void add_taps(const DirectWeightsPass& pass, const Taps& taps) {
  constexpr std::int64_t kVecFloats = sizeof(V) / sizeof(float);
  V sum[kTaps][kVecs];
  float* const sums = pass.sums + taps.first * 2 * kLanes;
  const std::int64_t block_step = pass.block_step;
  const std::int64_t column_step = pass.column_step;
  const float* from[kTaps];
#pragma GCC unroll 14
  for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[t][v] = load<V>(sums + 2 * t * kLanes + v * kVecFloats);
    from[t] = pass.x + pass.taps[taps.first + t];
  }
  const float* gradient = pass.gradients;
  const float* first_ahead = taps.ahead[0];
  const float* second_ahead = taps.ahead[1];
  const std::int64_t width = pass.width;
  const std::int64_t to_next_row = pass.row_step - width * column_step;
  std::int64_t at = 0;
  for (std::int64_t i = pass.rows; i > 0; --i) {
    for (std::int64_t j = width; j > 1; j -= 2) {
      add_pixel(from, at, gradient, block_step, sum);
      add_pixel(from, at + column_step, gradient + kLanes, block_step, sum);
      __builtin_prefetch(first_ahead);
      first_ahead += 2 * kLanes;
      if constexpr (kPairs) {
        __builtin_prefetch(second_ahead);
        second_ahead += 2 * kLanes;
      }
      gradient += 2 * kLanes;
      at += 2 * column_step;
    }
    if (width % 2 != 0) {
      add_pixel(from, at, gradient, block_step, sum);
      gradient += kLanes;
      at += column_step;
    }
    at += to_next_row;
  }
#pragma GCC unroll 14
  for (int t = 0; t < kTaps; ++t) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) store(sums + 2 * t * kLanes + v * kVecFloats, sum[t][v]);
  }
}

// taps.count <= kTaps of them.
template <int kTaps, class V, int kVecs>
void add_any_taps(const DirectWeightsPass& pass, const Taps& taps) {
  if (taps.count == kTaps) {
    add_taps<kTaps, V, kVecs>(pass, taps);
  } else if constexpr (kTaps > 1) {
    add_any_taps<kTaps - 1, V, kVecs>(pass, taps);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
template <class V, int kVecs>
void all_taps(const DirectWeightsPass& pass) {
  int group = 0;
  for (std::int64_t t = 0; t < pass.tap_count; ++group) {
    const std::int64_t left = pass.tap_count - t;
    const std::int64_t groups = (left + kTapsMax - 1) / kTapsMax;
    const std::int64_t taps = (left + groups - 1) / groups;
    const float* const none = pass.gradients;
    if constexpr (kPairs) {
      const bool first = group < 2;
      add_any_taps<kTapsMax, V, kVecs>(
          pass, {t,
                 taps,
                 {first ? pass.ahead[2 * group] : none, first ? pass.ahead[2 * group + 1] : none}});
    } else {
      add_any_taps<kTapsMax, V, kVecs>(pass,
                                       {t, taps, {group < 4 ? pass.ahead[group] : none, none}});
    }
    t += taps;
  }
}

void weight_sums(const DirectWeightsPass& pass) {
  if (pass.blocks == 1) {
    all_taps<Block, 1>(pass);
  } else if constexpr (kPairs) {
    all_taps<Pair, 1>(pass);
  } else {
    all_taps<Block, 2>(pass);
  }
}

void mask(const DirectWeightsLoops::Mask& given, float* g, float* bias_sums) {
  const DirectWeightsLoops::Mask m = given;
  const Block zero = {};
  Block sum = load<Block>(bias_sums);
  for (std::int64_t i = 0; i < m.pixels; ++i) {
    Block value = load<Block>(m.dy + i * kLanes);
    if (m.y != nullptr) value = load<Block>(m.y + i * kLanes) > zero ? value : zero;
    store(g + i * kLanes, value);
    sum += value;
  }
  store(bias_sums, sum);
}

}  // namespace

extern const DirectWeightsLoops WEFT_LOOPS_NAME(direct_weights_loops) = {weight_sums, mask};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
