// The products of minimal filtering, compiled once for each instruction set.
#include "weft/base/isa/loops_begin.inc"
#include "weft/kernel/conv/winograd/winograd_loops.h"

namespace weft {
namespace {

#include "weft/kernel/core/vector.inc"

constexpr std::int64_t kVec = WEFT_LANES;
constexpr std::int64_t kPanel = kWinogradPanel;
// Registers of a row of one panel.
constexpr int kPanelVecs = kPanel / kVec;
// As in gemm_loops.cpp: a row of a tile has two registers, and with 16 registers 12 accumulators, 2
// registers of b and 1 of a are 15. AVX-512 has 32.
constexpr int kPanels = kPanelVecs == 1 ? 2 : 1;
constexpr int kRows = kVec == 8 ? 6 : 12;

// Contracted where the instruction set has fused multiplications.
inline Vec multiply_add(const Vec& a, const Vec& b, const Vec& c) { return a * b + c; }

// Where register v of a row of panels `next` apart begins.
constexpr std::int64_t place_of(int v, std::int64_t next) {
  return v / kPanelVecs * next + v % kPanelVecs * kVec;
}

template <int kCount, int kVecs>
inline void finish(const Vec (&sum)[kCount][kVecs], const WinogradProduct& product, float* c) {
#pragma GCC unroll 12
  for (int i = 0; i < kCount; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      float* const to = c + i * kPanel + place_of(v, product.c_next);
      store(to, product.accumulate ? sum[i][v] + load(to) : sum[i][v]);
    }
  }
}

// sums += the row of b times kCount values that lie `step` floats apart.
template <int kCount, int kVecs>
inline void add_row(const float* a, std::int64_t step, const float* b, std::int64_t next,
                    Vec (&sum)[kCount][kVecs]) {
  Vec row[kVecs];
#pragma GCC unroll 2
  for (int v = 0; v < kVecs; ++v) row[v] = load(b + place_of(v, next));
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    const Vec x = a[i * step] - Vec{};  // in every lane
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) sum[i][v] = multiply_add(x, row[v], sum[i][v]);
  }
}

// kCount tiles of a product, from `first` on.
template <int kCount, int kVecs>
void product_rows(const WinogradProduct& product, std::int64_t first) {
  Vec sum[kCount][kVecs] = {};
  const float* a = product.a + first * kPanel;
  const float* b = product.b;
  const std::int64_t a_step = product.a_step;
  const std::int64_t next = product.b_next;
  for (std::int64_t k = product.depth; k > 0; k -= kPanel) {
#pragma GCC unroll 4
    for (int part = 0; part < kPanel; ++part) {
      add_row(a + part, kPanel, b, next, sum);
      b += kPanel;
    }
    a += a_step;
  }
  finish(sum, product, product.c + first * kPanel);
}

// `rows` <= kCount of them.
template <int kCount, int kVecs>
void any_product_rows(const WinogradProduct& product, std::int64_t first, std::int64_t rows) {
  if (rows == kCount) {
    product_rows<kCount, kVecs>(product, first);
  } else if constexpr (kCount > 1) {
    any_product_rows<kCount - 1, kVecs>(product, first, rows);
  }
}

// In groups of about equal size, because a small one keeps the multipliers waiting.
template <int kVecs>
void all_product_rows(const WinogradProduct& product) {
  for (std::int64_t done = 0; done < product.tiles;) {
    const std::int64_t left = product.tiles - done;
    const std::int64_t groups = (left + kRows - 1) / kRows;
    const std::int64_t rows = (left + groups - 1) / groups;
    any_product_rows<kRows, kVecs>(product, done, rows);
    done += rows;
  }
}

void multiply(const WinogradProduct& product) {
  if (product.panels < kPanels) {
    all_product_rows<kPanelVecs>(product);
  } else {
    all_product_rows<kPanelVecs * kPanels>(product);
  }
}

// kCount rows of a transposed product, from `first` on.
template <int kCount, int kVecs>
void transposed_rows(const WinogradProduct& product, std::int64_t first) {
  Vec sum[kCount][kVecs] = {};
  const float* a = product.a + first;
  const float* b = product.b;
  const std::int64_t next = product.b_next;
#pragma GCC unroll 4
  for (std::int64_t t = product.tiles; t > 0; --t) {
    add_row(a, 1, b, next, sum);
    a += kPanel;
    b += kPanel;
  }
  finish(sum, product, product.c + first * kPanel);
}

void multiply_transposed(const WinogradProduct& product) {
  if constexpr (kVec == 8) {
    transposed_rows<6, 2>(product, 0);
    transposed_rows<6, 2>(product, 6);
    transposed_rows<4, 2>(product, 12);
  } else if (product.panels == 1) {
    transposed_rows<16, 1>(product, 0);
  } else {
    transposed_rows<8, 2>(product, 0);
    transposed_rows<8, 2>(product, 8);
  }
}

}  // namespace

extern const WinogradProducts WEFT_LOOPS_NAME(winograd_products) = {kPanels, multiply,
                                                                    multiply_transposed};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
