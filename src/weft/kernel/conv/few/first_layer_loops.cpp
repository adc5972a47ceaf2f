// The loops of first_layer_loops.h, compiled once for each instruction set.
#include "weft/kernel/conv/few/first_layer_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/bf16_lanes.inc"
#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kVec = WEFT_LANES;
constexpr std::int64_t kPanel = kFirstLayerPanel;
constexpr std::int64_t kBlock = kFirstLayerBlock;
// As in winograd_products.inc: two registers of filters for each of 6 or 12 pixels.
constexpr int kPanelVecs = kPanel / kVec;
constexpr int kPanels = kPanelVecs == 1 ? 2 : 1;
constexpr int kPixels = kVec == 8 ? 6 : 12;

using Block = Bf16Lanes<kBlock>::Floats;

inline void store_block(float* to, const Block& value) {
  __builtin_memcpy(to, &value, sizeof value);
}
inline void store_block(std::uint16_t* to, const Block& value) { store_bf16<kBlock>(to, value); }

// Writes the results of sums [pixel][filter] of `count` pixels from `first` on.
template <class T>
void store_results(const FirstLayerRow<T>& row, std::int64_t first, std::int64_t count,
                   std::int64_t filters, const float* sums) {
  const Block zero = {};
  for (std::int64_t block = 0; block < row.blocks; ++block) {
    Block bias;
    __builtin_memcpy(&bias, row.bias + block * kBlock, sizeof bias);
    const float* from = sums + block * kBlock;
    T* to = row.y + block * row.block_step + first * kBlock;
    for (std::int64_t i = 0; i < count; ++i, from += filters, to += kBlock) {
      Block value;
      __builtin_memcpy(&value, from, sizeof value);
      value += bias;
      if (row.relu) value = value < zero ? zero : value;  // NaN stays NaN
      store_block(to, value);
    }
  }
}

// to[pixel][filter] of kCount pixels from `first` on.
template <int kCount, int kVecs>
void sum_pixels(const FirstLayerSums& work, std::int64_t first, float* to) {
  Vec sum[kCount][kVecs] = {};
  const float* const x = work.x + first * work.stride;
  const float* weights = work.weights;
  const std::int64_t stride = work.stride;
  for (std::int64_t k = 0; k < work.depth; ++k, weights += kPanel) {
    const float* const from = x + work.taps[k];
    Vec filters[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      filters[v] = load(weights + v / kPanelVecs * work.weights_next + v % kPanelVecs * kVec);
    }
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) {
      const Vec value = from[i * stride] - Vec{};  // in every lane
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum[i][v] = value * filters[v] + sum[i][v];
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) store(to + (i * kVecs + v) * kVec, sum[i][v]);
  }
}

// `count` <= kCount of them.
template <int kCount, int kVecs>
void sum_any_pixels(const FirstLayerSums& work, std::int64_t first, std::int64_t count, float* to) {
  if (count == kCount) {
    sum_pixels<kCount, kVecs>(work, first, to);
  } else if constexpr (kCount > 1) {
    sum_any_pixels<kCount - 1, kVecs>(work, first, count, to);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
template <int kVecs, class T>
void all_pixels(const FirstLayerRow<T>& row) {
  float sums[kPixels * kVecs * kVec];
  for (std::int64_t done = 0; done < row.pixels;) {
    const std::int64_t left = row.pixels - done;
    const std::int64_t groups = (left + kPixels - 1) / kPixels;
    const std::int64_t count = (left + groups - 1) / groups;
    sum_any_pixels<kPixels, kVecs>(row.sums, done, count, sums);
    store_results(row, done, count, kVecs * kVec, sums);
    done += count;
  }
}

template <class T>
void convolve(const FirstLayerRow<T>& row) {
  if (row.sums.panels < kPanels) {
    all_pixels<kPanelVecs>(row);
  } else {
    all_pixels<kPanelVecs * kPanels>(row);
  }
}

}  // namespace

extern const FirstLayerLoops WEFT_LOOPS_NAME(first_layer_loops) = {kPanels, convolve<float>,
                                                                   convolve<std::uint16_t>};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
