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
constexpr std::int64_t kVecBlocks = kVec / kBlock;

using Block = Bf16Lanes<kBlock>::Floats;

inline void store_block(float* to, const Block& value) {
  __builtin_memcpy(to, &value, sizeof value);
}
inline void store_block(std::uint16_t* to, const Block& value) { store_bf16<kBlock>(to, value); }

// The results of one pixel, the first of which are register v's.
template <class T>
inline void store_results(const FirstLayerRow<T>& row, std::int64_t pixel, int v, const Vec& sum) {
  const Vec value = sum + load(row.bias + v * kVec);
  const Vec result = row.relu ? positive(value) : value;
  for (std::int64_t i = 0; i < kVecBlocks; ++i) {
    const std::int64_t block = v * kVecBlocks + i;
    if (block >= row.blocks) return;
    Block part;
    __builtin_memcpy(&part, reinterpret_cast<const char*>(&result) + i * std::int64_t{sizeof part},
                     sizeof part);
    store_block(row.y + block * row.block_step + pixel * kBlock, part);
  }
}

// kCount pixels from `first` on.
template <int kCount, int kVecs, class T>
void convolve_pixels(const FirstLayerRow<T>& row, std::int64_t first) {
  Vec sum[kCount][kVecs] = {};
  const float* const x = row.x + first * row.stride;
  const float* weights = row.weights;
  const std::int64_t stride = row.stride;
  for (std::int64_t k = 0; k < row.depth; ++k, weights += kPanel) {
    const float* const from = x + row.taps[k];
    Vec filters[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      filters[v] = load(weights + v / kPanelVecs * row.weights_next + v % kPanelVecs * kVec);
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
    for (int v = 0; v < kVecs; ++v) store_results(row, first + i, v, sum[i][v]);
  }
}

// `count` <= kCount of them.
template <int kCount, int kVecs, class T>
void any_pixels(const FirstLayerRow<T>& row, std::int64_t first, std::int64_t count) {
  if (count == kCount) {
    convolve_pixels<kCount, kVecs>(row, first);
  } else if constexpr (kCount > 1) {
    any_pixels<kCount - 1, kVecs>(row, first, count);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
template <int kVecs, class T>
void all_pixels(const FirstLayerRow<T>& row) {
  for (std::int64_t done = 0; done < row.pixels;) {
    const std::int64_t left = row.pixels - done;
    const std::int64_t groups = (left + kPixels - 1) / kPixels;
    const std::int64_t count = (left + groups - 1) / groups;
    any_pixels<kPixels, kVecs>(row, done, count);
    done += count;
  }
}

template <class T>
void convolve(const FirstLayerRow<T>& row) {
  if (row.panels < kPanels) {
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
