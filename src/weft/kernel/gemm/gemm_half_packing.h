// How gemm_half.cpp packs and multiplies operands of 16 bits: widened to f32, or as pairs.
//
// A packing holds one block of columns of b and one of rows of a in memory that the caller owns:
//   depth(k)                       columns of a at once, of k alone
//   words(depth, columns)          32-bit words of memory that it needs for `columns` of b at once
//   pack_columns(b, depth, columns), pack_rows(a, rows, depth)
//   columns()                      that multiply() takes at most
//   multiply(size, j, out)         out = the rows times columns [j, j + size.n)
// Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "weft/array/dtype/half_rows.h"
#include "weft/kernel/gemm/gemm_blocks.h"
#include "weft/kernel/gemm/gemm_half.h"
#include "weft/kernel/gemm/gemm_loops.h"
#include "weft/kernel/gemm/gemm_pairs_loops.h"

namespace weft {

template <class Half>
HalfOperand<Half> half_block_of(const HalfOperand<Half>& operand, std::int64_t row,
                                std::int64_t column) {
  return {operand.data + row * operand.row_step + column * operand.column_step, operand.row_step,
          operand.column_step};
}

// Values become f32 before they are packed: the same bits as gemm() of the widened operands.
template <class Half>
class WidenedPacking {
 public:
  using Value = Half;
  static std::int64_t depth(std::int64_t k) { return gemm_depth(k); }
  static std::int64_t words(std::int64_t depth, std::int64_t columns) {
    return depth * columns + strip_words(depth, columns) + 2 * gemm_blocks::kRowsAtOnce * depth;
  }

  WidenedPacking(void* memory, std::int64_t depth, std::int64_t columns)
      : panels_(static_cast<float*>(memory)),
        strip_(panels_ + depth * columns),
        wide_rows_(strip_ + strip_words(depth, columns)),
        packed_rows_(wide_rows_ + gemm_blocks::kRowsAtOnce * depth) {}

  std::int64_t columns() const { return inner_.columns; }

  void pack_columns(const HalfOperand<Half>& b, std::int64_t depth, std::int64_t columns) {
    const auto columns_at = [&](std::int64_t j) { return std::min(kGemmPanel, columns - j); };
    if (b.column_step != 1) {
      for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
        const GemmOperand wide = widen(half_block_of(b, 0, j), depth, columns_at(j), strip_);
        inner_.pack(wide, depth, columns_at(j), panels_ + j * depth);
      }
      return;
    }
    for (std::int64_t k = 0; k < depth; k += kStripRows) {
      const std::int64_t count = std::min(kStripRows, depth - k);
      const GemmOperand wide = widen(half_block_of(b, k, 0), count, columns, strip_);
      for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
        inner_.pack({wide.data + j, wide.row_step, 1}, count, columns_at(j),
                    panels_ + j * depth + k * kGemmPanel);
      }
    }
  }

  void pack_rows(const HalfOperand<Half>& a, std::int64_t rows, std::int64_t depth) {
    rows_ = widen(a, rows, depth, wide_rows_);
    packs_ = rows_.column_step != 1 || inner_.packs_rows;
    if (packs_) inner_.pack_rows(rows_, rows, depth, packed_rows_);
  }

  void multiply(const GemmSize& size, std::int64_t j, const GemmOutput& out) const {
    const GemmPanel panel{panels_ + j * size.k, kGemmPanel, kGemmPanel * size.k};
    if (packs_) {
      inner_.multiply_packed(size, packed_rows_, panel, out);
    } else {
      inner_.multiply(size, rows_, panel, out);
    }
  }

 private:
  // Rows of b that are widened before they are packed: with 512 columns 64 KiB.
  static constexpr std::int64_t kStripRows = 32;
  static std::int64_t strip_words(std::int64_t depth, std::int64_t columns) {
    return std::max(kStripRows * columns, kGemmPanel * depth);
  }

  // [rows, columns] of `from` in f32, in the operand's own order where that is dense along an axis.
  static GemmOperand widen(const HalfOperand<Half>& from, std::int64_t rows, std::int64_t columns,
                           float* to) {
    if (from.row_step == 1 && from.column_step != 1) {
      for (std::int64_t j = 0; j < columns; ++j) {
        to_f32_row(from.data + j * from.column_step, to + j * rows, rows);
      }
      return {to, 1, rows};
    }
    for (std::int64_t i = 0; i < rows; ++i) {
      const Half* const row = from.data + i * from.row_step;
      float* const wide = to + i * columns;
      if (from.column_step == 1) {
        to_f32_row(row, wide, columns);
      } else {
        for (std::int64_t j = 0; j < columns; ++j) wide[j] = row[j * from.column_step];
      }
    }
    return {to, columns, 1};
  }

  const GemmLoops& inner_ = gemm_loops();
  float* panels_;
  float* strip_;  // of b, widened
  float* wide_rows_;
  float* packed_rows_;
  GemmOperand rows_ = {};
  bool packs_ = false;
};

// bf16 as it is, two k to a word.
class PairsPacking {
 public:
  using Value = BFloat16;
  // As many bytes as gemm's.
  static std::int64_t depth(std::int64_t k) { return 2 * gemm_depth((k + 1) / 2); }
  static std::int64_t words(std::int64_t depth, std::int64_t columns) {
    return depth / 2 * (columns + gemm_blocks::kRowsAtOnce);
  }

  PairsPacking(void* memory, std::int64_t depth, std::int64_t columns)
      : panels_(static_cast<std::uint32_t*>(memory)), rows_(panels_ + depth / 2 * columns) {}

  std::int64_t columns() const { return inner_.columns; }

  void pack_columns(const HalfOperand<BFloat16>& b, std::int64_t depth, std::int64_t columns) {
    const std::int64_t pairs = (depth + 1) / 2;
    for (std::int64_t j = 0; j < columns; j += kGemmPanel) {
      inner_.pack(bits_of(half_block_of(b, 0, j)), depth, std::min(kGemmPanel, columns - j),
                  panels_ + j * pairs);
    }
  }

  void pack_rows(const HalfOperand<BFloat16>& a, std::int64_t rows, std::int64_t depth) {
    inner_.pack_rows(bits_of(a), rows, depth, rows_);
  }

  void multiply(const GemmSize& size, std::int64_t j, const GemmOutput& out) const {
    const std::int64_t pairs = (size.k + 1) / 2;
    inner_.multiply({size.m, size.n, pairs}, rows_,
                    {panels_ + j * pairs, kGemmPanel, kGemmPanel * pairs}, out);
  }

 private:
  static PairsOperand bits_of(const HalfOperand<BFloat16>& operand) {
    static_assert(sizeof(BFloat16) == sizeof(std::uint16_t) &&
                  std::is_trivially_copyable_v<BFloat16>);
    return {reinterpret_cast<const std::uint16_t*>(operand.data), operand.row_step,
            operand.column_step};
  }

  const GemmPairsLoops& inner_ = gemm_pairs_loops();
  std::uint32_t* panels_;
  std::uint32_t* rows_;
};

}  // namespace weft
