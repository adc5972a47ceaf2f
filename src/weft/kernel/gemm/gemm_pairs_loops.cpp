// The loops of gemm_pairs_loops.h, compiled once for each instruction set.
#include "weft/kernel/gemm/gemm_pairs_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "weft/base/isa/loops_begin.inc"

// A set that has no instruction for it and is not for tests has no loops.
#if defined(WEFT_WITH_AVX512BF16) || defined(WEFT_WITH_BF16) || \
    (WEFT_LANES == 16 && !defined(WEFT_WITH_AVX512F))

namespace weft {
namespace {

#include "weft/kernel/core/pairs_math.inc"

constexpr std::int64_t kVec = WEFT_LANES;
constexpr int kGroupElements = 4;
using Operand = PairsMatrix;
using Panel = PairsPanel;

// Products of 16 bits gain nothing by what floats fetch here.
inline void fetch_lines(const PairsPanel& /*panel*/) {}

#include "weft/kernel/gemm/gemm_tiles.inc"

inline Element pair_of(std::uint16_t first, std::uint16_t second) {
  return static_cast<Element>(first) | static_cast<Element>(second) << 16;
}

// 8 columns of rows k and k + 1 of b, or columns and rows of a.
inline void interleave8(const std::uint16_t* first, const std::uint16_t* second, Element* to) {
  using Values [[gnu::vector_size(16)]] = std::uint16_t;
  Values low;
  Values high;
  __builtin_memcpy(&low, first, sizeof low);
  __builtin_memcpy(&high, second, sizeof high);
  const auto pairs =
      __builtin_shufflevector(low, high, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
  __builtin_memcpy(to, &pairs, sizeof pairs);
}

// Pairs from `pair` on, of any order of memory. One function for tiles of any height.
[[gnu::noinline]] void pack_pairs(const PairsOperand& from, std::int64_t rows, std::int64_t pair,
                                  std::int64_t depth, Element* packed) {
  for (; pair < (depth + 1) / 2; ++pair) {
    const std::uint16_t* const first = from.data + 2 * pair * from.column_step;
    const bool both = 2 * pair + 1 < depth;
#pragma GCC unroll 1
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::uint16_t* const value = first + i * from.row_step;
      packed[pair * rows + i] =
          pair_of(value[0], both ? value[from.column_step] : std::uint16_t{0});
    }
  }
}

// packed[pairs][kCount] of kCount rows; row i, column k is from[i * row_step + k * column_step].
template <int kCount>
void pack_tile(const PairsOperand& from, std::int64_t depth, Element* packed) {
  const std::int64_t row_step = from.row_step;
  const std::int64_t step = from.column_step;
  const std::int64_t whole = depth / 2;
  std::int64_t pair = 0;
  if (step == 1) {
    if constexpr (kCount >= 8) {
      pair = transpose_tile<kCount>(from.data, row_step, whole, packed);
    }
  } else if (row_step == 1) {
    if constexpr (kCount >= 8) {
      for (; pair < whole; ++pair) {
        const std::uint16_t* const first = from.data + 2 * pair * step;
        Element* const to = packed + pair * kCount;
        interleave8(first, first + step, to);
        // The last eight overlap the first.
        constexpr int kRest = kCount - 8;
        if constexpr (kRest > 0) interleave8(first + kRest, first + step + kRest, to + kRest);
      }
    }
  }
  pack_pairs(from, kCount, pair, depth, packed);
}

void pack_rows(const PairsOperand& a, std::int64_t rows, std::int64_t depth, Element* packed) {
  pack_tiles(a, rows, (depth + 1) / 2, packed,
             [depth]<int kCount>(const PairsOperand& from, Element* to) {
               pack_tile<kCount>(from, depth, to);
             });
}

void pack(const PairsOperand& b, std::int64_t depth, std::int64_t columns, Element* packed) {
  if (columns == kPanel) {
    pack_tile<kPanel>({b.data, b.column_step, b.row_step}, depth, packed);
    return;
  }
  for (std::int64_t k = 0; k < depth; k += 2) {
    const std::uint16_t* const first = b.data + k * b.row_step;
    const bool both = k + 1 < depth;
    for (std::int64_t j = 0; j < columns; ++j) {
      packed[j] = pair_of(first[j * b.column_step],
                          both ? first[j * b.column_step + b.row_step] : std::uint16_t{0});
    }
    for (std::int64_t j = columns; j < kPanel; ++j) packed[j] = 0;
    packed += kPanel;
  }
}

void multiply(const GemmSize& size, const Element* rows, const PairsPanel& panel,
              const GemmOutput& c) {
  multiply_any<Rows::kPacked>(size, {rows, 0, 0}, panel, c);
}

void multiply_matrix(const GemmSize& size, const PairsMatrix& a, const PairsPanel& panel,
                     const GemmOutput& c) {
  multiply_any<Rows::kStrided, Ends::kPlain>(size, a, panel, c);
}

}  // namespace

extern const GemmPairsLoops WEFT_LOOPS_NAME(gemm_pairs_loops) = {
    true, kPanels* kPanel, kRows, pack, pack_rows, multiply, multiply_matrix, multiply_tiles};

}  // namespace weft

#else

namespace weft {

extern const GemmPairsLoops WEFT_LOOPS_NAME(gemm_pairs_loops) = {};

}  // namespace weft

#endif

#include "weft/base/isa/loops_end.inc"
