// The loops of int8_loops.h, compiled once for each instruction set.
#include "weft/kernel/gemm/int8_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

// Bytes of a group of a panel.
constexpr std::int64_t kPanelBytes = kInt8Panel * kInt8Group;

#include "weft/kernel/gemm/int8_dots.inc"

inline std::int64_t panels_in(const Int8Weights& weights) {
  return (weights.columns + kInt8Panel - 1) / kInt8Panel;
}

// The values of one panel; the compiler splits them where registers are shorter.
using Panel [[gnu::vector_size(4 * kInt8Panel)]] = float;
using WholePanel [[gnu::vector_size(4 * kInt8Panel)]] = std::int32_t;

// `columns` values, and zeros behind them.
inline void load_panel(const float* from, std::int64_t columns, Panel& values) {
  if (columns == kInt8Panel) {
    __builtin_memcpy(&values, from, sizeof values);
  } else {
    float some[kInt8Panel] = {};
    for (std::int64_t j = 0; j < columns; ++j) some[j] = from[j];
    __builtin_memcpy(&values, some, sizeof values);
  }
}

// A panel of one row of c, of which `columns` count, from its sums.
inline void finish(const std::int32_t* sums, float row_scale, const float* scales,
                   std::int64_t columns, const GemmOutput& c) {
  WholePanel whole;
  __builtin_memcpy(&whole, sums, sizeof whole);
  Panel values = __builtin_convertvector(whole, Panel) * row_scale;
  Panel other;
  load_panel(scales, kInt8Panel, other);
  values *= other;
  if (c.accumulate) {
    load_panel(c.data, columns, other);
    values += other;
  }
  if (c.bias != nullptr) {
    load_panel(c.bias, columns, other);
    values += other;
  }
  const Panel zero = {};
  if (c.relu) values = values < zero ? zero : values;  // NaN stays NaN
  if (columns == kInt8Panel) {
    __builtin_memcpy(c.data, &values, sizeof values);
    return;
  }
  float some[kInt8Panel];
  __builtin_memcpy(some, &values, sizeof some);
  for (std::int64_t j = 0; j < columns; ++j) c.data[j] = some[j];
}

inline GemmOutput moved(const GemmOutput& c, std::int64_t row, std::int64_t column) {
  GemmOutput out = c;
  out.data += row * c.row_step + column;
  if (out.bias != nullptr) out.bias += column;
  return out;
}

// kRows rows times the block's panels [panel, panel + kPanels).
template <int kRows, int kPanels>
void tile(const Int8Rows& rows, const Int8Weights& weights, std::int64_t panel,
          const GemmOutput& c) {
  // Few sums would wait for each other: every second group then has its own.
  constexpr int kChains = kRows == 1 ? kChainsOfRow : 1;
  const std::int64_t first = panel * kInt8Panel;
  Sums sums[kChains][kRows][kPanels];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
    const Sums start = load_sums(weights.starts + first + p * kInt8Panel);
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) sums[0][i][p] = start;
#pragma GCC unroll 2
    for (int n = 1; n < kChains; ++n) sums[n][0][p] = no_sums();
  }
  const std::uint8_t* x = rows.values;
  const std::int64_t row_bytes = rows.row_bytes;
  const std::int8_t* values = weights.values + panel * kPanelBytes;
  const std::int64_t step = panels_in(weights) * kPanelBytes;
  for (std::int64_t g = weights.groups; g > 0; g -= kChains) {
#pragma GCC unroll 2
    for (int n = 0; n < kChains; ++n) {
      Weights group[kPanels];
#pragma GCC unroll 4
      for (int p = 0; p < kPanels; ++p) group[p] = load_weights(values + p * kPanelBytes);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        const Activations row = load_activations(x + i * row_bytes);
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p) sums[n][i][p] = add_dots(sums[n][i][p], row, group[p]);
      }
      values += step;
      x += kInt8Group;
    }
  }
  std::int32_t whole[kRows][kPanels][kInt8Panel];
#pragma GCC unroll 4
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 2
    for (int n = 1; n < kChains; ++n) sums[0][0][p] = joined(sums[0][0][p], sums[n][0][p]);
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) store_sums(whole[i][p], sums[0][i][p]);
  }
  for (int i = 0; i < kRows; ++i) {
    for (int p = 0; p < kPanels; ++p) {
      const std::int64_t column = first + p * kInt8Panel;
      const std::int64_t left = weights.columns - column;
      finish(whole[i][p], rows.scales[i], weights.scales + column,
             left < kInt8Panel ? left : kInt8Panel, moved(c, i, column));
    }
  }
}

// The panels from `panel` on, at most kPanels at a time.
template <int kRows, int kPanels>
void panels_from(std::int64_t panel, const Int8Rows& rows, const Int8Weights& weights,
                 const GemmOutput& c) {
  const std::int64_t end = panels_in(weights);
  for (; end - panel >= kPanels; panel += kPanels) tile<kRows, kPanels>(rows, weights, panel, c);
  if constexpr (kPanels > 1) {
    if (panel < end) panels_from<kRows, kPanels - 1>(panel, rows, weights, c);
  }
}

template <int kRows>
void rows_of(const Int8Rows& rows, const Int8Weights& weights, const GemmOutput& c) {
  if (rows.count == kRows) {
    panels_from<kRows, kRows == 1 ? kPanelsOfRow : kPanelsOfTile>(0, rows, weights, c);
  } else if constexpr (kRows > 1) {
    rows_of<kRows - 1>(rows, weights, c);
  }
}

void multiply(const Int8Rows& rows, const Int8Weights& weights, const GemmOutput& c) {
  for (std::int64_t i = 0; i < rows.count; i += kRowsOfTile) {
    const std::int64_t left = rows.count - i;
    rows_of<kRowsOfTile>({rows.values + i * rows.row_bytes, rows.row_bytes, rows.scales + i,
                          left < kRowsOfTile ? left : kRowsOfTile},
                         weights, moved(c, i, 0));
  }
}

inline float of_bits(std::uint32_t bits) {
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Magnitudes as bits are whole numbers in the same order, and NaN and infinity are the largest.
float quantise(const float* from, std::int64_t count, std::int32_t offset, std::uint8_t* to) {
  constexpr std::int32_t kInfinity = 0x7F800000;
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int32_t bits = 0;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    bits &= 0x7FFFFFFF;
    largest = bits > largest ? bits : largest;
  }
  const float magnitude = of_bits(static_cast<std::uint32_t>(largest));
  const bool finite = largest < kInfinity;
  if (!finite || magnitude < 1e-36F) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::uint8_t>(offset);
    return finite ? 0.0F : of_bits(0x7FC00000U);
  }
  // No product is beyond 127.00002, which becomes 127. The sum with 1.5 * 2^23 is rounded to a
  // whole number, which its last bits are.
  const float inverse = 127.0F / magnitude;
  constexpr float kRounding = 12582912.0F;
  constexpr std::uint32_t kRoundingBits = 0x4B400000U;
  const std::uint32_t shift = static_cast<std::uint32_t>(offset) - kRoundingBits;
  for (std::int64_t i = 0; i < count; ++i) {
    const float rounded = from[i] * inverse + kRounding;
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &rounded, sizeof bits);
    to[i] = static_cast<std::uint8_t>(bits + shift);
  }
  return magnitude / 127.0F;
}

}  // namespace

extern const Int8Loops WEFT_LOOPS_NAME(int8_loops) = {kOffset, quantise, multiply};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
