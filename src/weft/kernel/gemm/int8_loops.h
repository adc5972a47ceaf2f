// The inner loops of products with weights of 8 bits, one build for each instruction set.
//
// Values are whole numbers in [-127, 127] times a scale of their row. Sums are exact in 32 bits,
// and what follows is computed in one order without fused multiplications: the same bits in every
// set. Threads: any. Fails: never.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/gemm/gemm.h"

namespace weft {

// Columns (rows of the weight) whose sums lie in one register of AVX-512.
inline constexpr std::int64_t kInt8Panel = 16;
// Values of one column that lie together: what a unit for dot products adds to one sum.
inline constexpr std::int64_t kInt8Group = 4;
// Panels that lie together, so that one row reads one long stream.
inline constexpr std::int64_t kInt8Panels = 4;
inline constexpr std::int64_t kInt8BlockColumns = kInt8Panels * kInt8Panel;
// k is filled up with zeros to a multiple of this: two groups, which have sums of their own where
// few sums would wait for each other.
inline constexpr std::int64_t kInt8Depth = 2 * kInt8Group;
// The largest k whose sums stay in 32 bits, with activations of up to 255.
inline constexpr std::int64_t kInt8DepthMax = 65536;

// Activations: count rows of quantised values, row_bytes apart, and the scale of each.
struct Int8Rows {
  const std::uint8_t* values;
  std::int64_t row_bytes;
  const float* scales;
  std::int64_t count;
};

// A block of weights: values[groups][panels][kInt8Panel][kInt8Group], and for each column, also
// those that fill the last panel, its scale and what its sum begins with.
struct Int8Weights {
  const std::int8_t* values;
  const float* scales;
  const std::int32_t* starts;
  std::int64_t groups;   // even
  std::int64_t columns;  // at most kInt8BlockColumns, without those that fill the last panel
};

struct Int8Loops {
  // Is added to each activation, so that it has no sign, which some units want; a sum then begins
  // with minus this times the sum of its weights.
  std::int32_t offset;
  // to[i] = from[i] / scale, rounded to even, + offset; returns the scale, the largest magnitude /
  // 127. A row of magnitudes below 1e-36 counts as zeros and has scale 0. A row that holds NaN or
  // an infinity becomes zeros, and its scale is NaN.
  float (*quantise)(const float* from, std::int64_t count, std::int32_t offset, std::uint8_t* to);
  // c[i][j] (+)= (sum over k of rows * weights) * row's scale * column's scale; then bias and ReLU.
  void (*multiply)(const Int8Rows& rows, const Int8Weights& weights, const GemmOutput& c);
};

// int8_loops(): the loops for this processor.
WEFT_DOT_LOOPS(Int8Loops, int8_loops)

}  // namespace weft
