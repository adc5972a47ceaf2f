// gemm's loops, compiled once for each instruction set.
#include "weft/kernel/gemm/gemm_loops.h"

#include "weft/base/isa/loops_begin.inc"

#define WEFT_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kVec = WEFT_LANES;
constexpr std::int64_t kPanel = kGemmPanel;
// Registers of a row of one panel.
constexpr int kPanelVecs = kPanel / kVec;
// Panels side by side, so that a row of a tile has two registers: each value of a is read once for
// two multiplications.
constexpr int kPanels = kPanelVecs == 1 ? 2 : 1;
// With 16 registers 12 accumulators, 2 registers of b and 1 of a are 15. AVX-512 has 32: 24, 2 and
// values of a that are read from memory by the multiplication itself.
constexpr int kRows = kVec == 8 ? 6 : 12;

// Contracted where the instruction set has fused multiplications.
inline Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) { return a * b + c; }

// Register v of the columns that begin at `row`, in panels `next` apart.
inline Vec load_column(const float* row, std::int64_t next, int v) {
  return load(row + v / kPanelVecs * next + v % kPanelVecs * kVec);
}

template <int kCount, int kVecs>
inline void finish(const Vec (&sum)[kCount][kVecs], const GemmOutput& c, std::int64_t columns) {
  constexpr std::int64_t kColumns = kVecs * kVec;
  const Vec zero = {};
  Vec bias[kVecs] = {};
  float padded[kColumns] = {};
  if (c.bias != nullptr) {
    for (std::int64_t j = 0; j < columns; ++j) padded[j] = c.bias[j];
    for (int v = 0; v < kVecs; ++v) bias[v] = load(padded + v * kVec);
  }
  for (int i = 0; i < kCount; ++i) {
    float* const row = c.data + i * c.row_step;
    float* to = row;
    if (columns < kColumns) {
      to = padded;
      if (c.accumulate) {
        for (std::int64_t j = 0; j < columns; ++j) padded[j] = row[j];
      }
    }
    for (int v = 0; v < kVecs; ++v) {
      Vec value = sum[i][v];
      if (c.accumulate) value += load(to + kVec * v);
      if (c.bias != nullptr) value += bias[v];
      if (c.relu) value = value < zero ? zero : value;  // NaN stays NaN
      store(to + kVec * v, value);
    }
    if (columns < kColumns) {
      for (std::int64_t j = 0; j < columns; ++j) row[j] = padded[j];
    }
  }
}

// What happens to a tile's sums. Whole panels without bias and activation, which the convolutions
// have many of, are spared the rest.
enum class Finish { kStore, kAdd, kAny };

// Where the rows of a lie: anywhere, or packed by pack_rows.
enum class Rows { kStrided, kPacked };

// The tiles of one call: how they end, where a lies, and registers in a row.
template <Finish kFinishOfTiles, Rows kRowsOfTiles, int kVecsOfTiles>
struct Kind {
  static constexpr Finish kFinish = kFinishOfTiles;
  static constexpr Rows kRowsOfA = kRowsOfTiles;
  static constexpr int kVecs = kVecsOfTiles;
};

// kCount rows of c times the panels.
template <int kCount, class K>
void tile(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel, const GemmOutput& c) {
  constexpr int kVecs = K::kVecs;
  Vec sum[kCount][kVecs] = {};
  const std::int64_t row_step = K::kRowsOfA == Rows::kPacked ? 1 : a.row_step;
  const std::int64_t column_step = K::kRowsOfA == Rows::kPacked ? kCount : a.column_step;
  const std::int64_t panel_step = panel.step;
  const std::int64_t next = panel.next;
  const float* from = a.data;
  const float* b = panel.data;
  for (std::int64_t k = size.k; k > 0; --k) {
    Vec columns[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) columns[v] = load_column(b, next, v);
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) {
      const Vec x = from[i * row_step] - Vec{};  // in every lane
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) sum[i][v] = multiply_add(x, columns[v], sum[i][v]);
    }
    b += panel_step;
    from += column_step;
  }
  if constexpr (K::kFinish == Finish::kAny) {
    finish(sum, c, size.n);
  } else {
    float* row = c.data;
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) {
        if constexpr (K::kFinish == Finish::kAdd) sum[i][v] += load(row + v * kVec);
        store(row + v * kVec, sum[i][v]);
      }
      row += c.row_step;
    }
  }
}

// A tile of `rows` <= kCount rows.
template <int kCount, class K>
void any_tile(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
              const GemmOutput& c, std::int64_t rows) {
  if (rows == kCount) {
    tile<kCount, K>(size, a, panel, c);
  } else if constexpr (kCount > 1) {
    any_tile<kCount - 1, K>(size, a, panel, c, rows);
  }
}

// Rows of the next tile when `left` are left: tiles of about equal height, because a low one keeps
// the multipliers waiting.
inline std::int64_t tile_rows(std::int64_t left) {
  const std::int64_t tiles = (left + kRows - 1) / kRows;
  return (left + tiles - 1) / tiles;
}

template <class K>
void all_rows(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
              const GemmOutput& c) {
  GemmOperand rows = a;
  GemmOutput out = c;
  for (std::int64_t left = size.m; left > 0;) {
    const std::int64_t count = tile_rows(left);
    any_tile<kRows, K>(size, rows, panel, out, count);
    rows.data += count * (K::kRowsOfA == Rows::kPacked ? size.k : rows.row_step);
    out.data += count * out.row_step;
    left -= count;
  }
}

template <Rows kRowsOfA, int kVecs>
void multiply_columns(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
                      const GemmOutput& c) {
  if (size.n != kVecs * kVec || c.bias != nullptr || c.relu) {
    all_rows<Kind<Finish::kAny, kRowsOfA, kVecs>>(size, a, panel, c);
  } else if (c.accumulate) {
    all_rows<Kind<Finish::kAdd, kRowsOfA, kVecs>>(size, a, panel, c);
  } else {
    all_rows<Kind<Finish::kStore, kRowsOfA, kVecs>>(size, a, panel, c);
  }
}

template <Rows kRowsOfA>
void multiply_any(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
                  const GemmOutput& c) {
  if (kPanels == 1 || size.n <= kPanel) {
    multiply_columns<kRowsOfA, kPanelVecs>(size, a, panel, c);
  } else {
    multiply_columns<kRowsOfA, kPanels * kPanelVecs>(size, a, panel, c);
  }
}

void multiply(const GemmSize& size, const GemmOperand& a, const GemmPanel& panel,
              const GemmOutput& c) {
  multiply_any<Rows::kStrided>(size, a, panel, c);
}

// One row of one panel has one sum or two, each of which waits for its last addition; those of
// several panels keep the multipliers busy.
void multiply_row(const GemmSize& size, const GemmOperand& a, const GemmPanel& panels,
                  const GemmOutput& c) {
  constexpr int kRowPanels = kGemmRowColumns / kPanel;
  Vec sum[kRowPanels][1][kPanelVecs] = {};
  const std::int64_t step = panels.step;
  const std::int64_t column_step = a.column_step;
  const float* from = a.data;
  const float* b = panels.data;
  for (std::int64_t k = size.k; k > 0; --k) {
    const Vec x = *from - Vec{};  // in every lane
#pragma GCC unroll 4
    for (int p = 0; p < kRowPanels; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kPanelVecs; ++v) {
        sum[p][0][v] = multiply_add(x, load(b + p * step + v * kVec), sum[p][0][v]);
      }
    }
    b += kPanel;
    from += column_step;
  }
  GemmOutput out = c;
#pragma GCC unroll 4
  for (int p = 0; p < kRowPanels; ++p) {
    finish(sum[p], out, kPanel);
    out.data += kPanel;
    if (out.bias != nullptr) out.bias += kPanel;
  }
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
  const float* from = a.data;
  for (std::int64_t k = 0; k < depth; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < kCount; ++i) packed[i] = from[i * row_step];
    packed += kCount;
    from += column_step;
  }
}

template <int kCount>
void pack_any_tile(const GemmOperand& a, std::int64_t depth, std::int64_t rows, float* packed) {
  if (rows == kCount) {
    pack_tile<kCount>(a, depth, packed);
  } else if constexpr (kCount > 1) {
    pack_any_tile<kCount - 1>(a, depth, rows, packed);
  }
}

void pack_rows(const GemmOperand& a, std::int64_t rows, std::int64_t depth, float* packed) {
  GemmOperand from = a;
  for (std::int64_t left = rows; left > 0;) {
    const std::int64_t count = tile_rows(left);
    pack_any_tile<kRows>(from, depth, count, packed);
    from.data += count * a.row_step;
    packed += count * depth;
    left -= count;
  }
}

using EightFloats [[gnu::vector_size(32)]] = float;

// 8 columns of 8 values each become 8 rows; columns are `step` apart, rows kPanel.
inline void transpose8(const float* from, std::int64_t step, float* to) {
  EightFloats r[8];
  for (int i = 0; i < 8; ++i) __builtin_memcpy(&r[i], from + i * step, sizeof r[i]);
  EightFloats s[8];
  for (int i = 0; i < 4; ++i) {
    s[2 * i] = WEFT_SHUFFLE(r[2 * i], r[2 * i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    s[2 * i + 1] = WEFT_SHUFFLE(r[2 * i], r[2 * i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int half = 0; half < 2; ++half) {
    const EightFloats* const t = s + 4 * half;
    r[4 * half] = WEFT_SHUFFLE(t[0], t[2], 0, 1, 8, 9, 4, 5, 12, 13);
    r[4 * half + 1] = WEFT_SHUFFLE(t[0], t[2], 2, 3, 10, 11, 6, 7, 14, 15);
    r[4 * half + 2] = WEFT_SHUFFLE(t[1], t[3], 0, 1, 8, 9, 4, 5, 12, 13);
    r[4 * half + 3] = WEFT_SHUFFLE(t[1], t[3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int i = 0; i < 4; ++i) {
    const EightFloats upper = WEFT_SHUFFLE(r[i], r[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    const EightFloats lower = WEFT_SHUFFLE(r[i], r[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    __builtin_memcpy(to + i * kPanel, &upper, sizeof upper);
    __builtin_memcpy(to + (i + 4) * kPanel, &lower, sizeof lower);
  }
}

void pack(const GemmOperand& b, std::int64_t rows, std::int64_t columns, float* packed) {
  if (b.column_step == 1 && columns == kPanel) {
    const float* from = b.data;
    for (std::int64_t k = 0; k < rows; ++k) {
      for (int v = 0; v < kPanelVecs; ++v) store(packed + v * kVec, load(from + v * kVec));
      packed += kPanel;
      from += b.row_step;
    }
    return;
  }
  std::int64_t done = 0;
  if (b.row_step == 1 && columns == kPanel) {
    for (; done + 8 <= rows; done += 8) {
      for (std::int64_t j = 0; j < kPanel; j += 8) {
        transpose8(b.data + done + j * b.column_step, b.column_step, packed + done * kPanel + j);
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
    kPanels * kPanel, kRows > 6, pack, multiply, multiply_row, pack_rows, multiply_packed};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
