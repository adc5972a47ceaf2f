// gemm's loops, compiled once for each instruction set.
#include "weft/kernel/gemm/gemm_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kVec = WEFT_LANES;
using Element = float;
constexpr int kGroupElements = 8;
using Elements = Vec;
using Operand = GemmOperand;
using Panel = GemmPanel;

inline Vec in_every_lane(float value) { return value - Vec{}; }
// Contracted where the instruction set has fused multiplications.
inline Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) { return a * b + c; }

inline void fetch_lines(const GemmPanel& panel) {
  constexpr int kSecondLevel = 2;
  if (panel.lines_ahead == nullptr) return;
  GemmLinesAhead& lines = *panel.lines_ahead;
  for (std::int64_t left = lines.each; left > 0 && lines.runs > 0; --left) {
    __builtin_prefetch(lines.next, 0, kSecondLevel);
    lines.next += GemmLinesAhead::kLineBytes;
    if (lines.next < lines.end) continue;
    if (--lines.runs == 0) break;
    lines.end += lines.step;
    lines.next = lines.end - lines.length;
  }
}

#include "weft/kernel/gemm/gemm_tiles.inc"

void multiply(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
              const GemmOutput& c) {
  multiply_any<Rows::kStrided>(size, a, panel, c);
}

// One row of one panel has one sum or two, each of which waits for its last addition; those of
// several panels keep the multipliers busy.
void multiply_row(const GemmSize& size, const GemmOperand& a, const GemmPanel& panels,
                  const GemmOutput& c) {
  constexpr int kRowVecs = kGemmRowColumns / kVec;
  Vec sum[1][kRowVecs] = {};
  const std::int64_t step = panels.step;
  const std::int64_t column_step = a.column_step;
  const float* from = a.data;
  const float* b = panels.data;
  for (std::int64_t k = size.k; k > 0; --k) {
    const Vec x = in_every_lane(*from);
#pragma GCC unroll 8
    for (int v = 0; v < kRowVecs; ++v) {
      sum[0][v] = multiply_add(x, load_column(b, step, v), sum[0][v]);
    }
    b += kPanel;
    from += column_step;
  }
  finish(sum, 1, c, kGemmRowColumns);
}

void multiply_packed(const GemmSize& size, const float* rows, const GemmPanel& panel,
                     const GemmOutput& c) {
  multiply_any<Rows::kPacked>(size, {rows, 0, 0}, panel, c);
}

// kCount rows side by side: packed[k][kCount].
template <int kCount>
void pack_tile(const GemmOperand& a, std::int64_t depth, float* packed) {
  const std::int64_t row_step = a.row_step;
  const std::int64_t column_step = a.column_step;
  std::int64_t k = 0;
  if constexpr (kCount >= 8) {
    if (column_step == 1) k = transpose_tile<kCount>(a.data, row_step, depth, packed);
  }
  const float* from = a.data + k * column_step;
  packed += k * kCount;
  for (; k < depth; ++k) {
    if (row_step == 1) {
      __builtin_memcpy(packed, from, kCount * sizeof(float));
    } else {
#pragma GCC unroll 12
      for (int i = 0; i < kCount; ++i) packed[i] = from[i * row_step];
    }
    packed += kCount;
    from += column_step;
  }
}

// Columns of a that are packed for all tiles before the next ones, if they are far apart in memory:
// a tile alone would read a part of a line from each of many pages, and the next one them again.
constexpr std::int64_t kFarColumns = 16;

void pack_rows(const GemmOperand& a, std::int64_t rows, std::int64_t depth, float* packed) {
  const std::int64_t step = a.row_step == 1 ? kFarColumns : depth;
  for (std::int64_t k = 0; k < depth; k += step) {
    const std::int64_t count = depth - k < step ? depth - k : step;
    const GemmOperand columns{a.data + k * a.column_step, a.row_step, a.column_step};
    if (a.row_step == 1) {
      for (std::int64_t row = 0; row < rows; row += kFetched) {
        fetch<kFarColumns>(columns.data + step * a.column_step + row, a.column_step);
      }
    }
    pack_tiles(columns, rows, depth, packed,
               [k, count]<int kCount>(const GemmOperand& from, float* to) {
                 pack_tile<kCount>(from, count, to + k * kCount);
               });
  }
}

// Rows of b are read panel by panel: how far ahead of that they are fetched.
constexpr std::int64_t kPanelsAhead = 4;

void pack(const GemmOperand& b, std::int64_t rows, std::int64_t columns, float* packed) {
  if (b.column_step == 1 && columns == kPanel) {
    const float* from = b.data;
    for (std::int64_t k = 0; k < rows; ++k) {
      __builtin_prefetch(from + kPanelsAhead * kPanel);
      for (int v = 0; v < kPanelVecs; ++v) store(packed + v * kVec, load(from + v * kVec));
      packed += kPanel;
      from += b.row_step;
    }
    return;
  }
  std::int64_t done = 0;
  if (b.row_step == 1 && columns == kPanel) {
    for (; done + 8 <= rows; done += 8) {
      if (done % kFetched == 0) {
        fetch<kPanel>(b.data + done + kPanel * b.column_step, b.column_step);
      }
      for (std::int64_t j = 0; j < kPanel; j += 8) {
        transpose8(b.data + done + j * b.column_step, b.column_step, packed + done * kPanel + j,
                   kPanel);
      }
    }
  }
  for (std::int64_t k = done; k < rows; ++k) {
    const float* const from = b.data + k * b.row_step;
    float* const to = packed + k * kPanel;
    for (std::int64_t j = 0; j < columns; ++j) to[j] = from[j * b.column_step];
    for (std::int64_t j = columns; j < kPanel; ++j) to[j] = 0.0F;
  }
}

}  // namespace

extern const GemmLoops WEFT_LOOPS_NAME(gemm_loops) = {
    kPanels * kPanel, kRows,     kRows > 6,       pack,          multiply,
    multiply_row,     pack_rows, multiply_packed, multiply_tiles};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
