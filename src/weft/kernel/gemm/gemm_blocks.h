// How matrix products are cut, the same for gemm.cpp and gemm_half.cpp: blocks that stay in the
// caches, and parts for the threads. Blocks follow from the sizes alone, and threads share rows or
// columns but never a sum, so results are the same bits for any number of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/base/parallel.h"
#include "weft/kernel/gemm/gemm_loops.h"

namespace weft::gemm_blocks {

// Rows of a at once: with a depth of 384 columns 144 KiB, which stay in the second-level cache.
inline constexpr std::int64_t kRowsAtOnce = 96;
// Many rows are shared out in pieces of a block, the last ones smaller.
inline constexpr std::int64_t kRowsOfPiece = 24;
inline constexpr std::int64_t kPiecesOfThread = 4;
// Below this many multiply-adds, a microsecond, a thread is not worth its part. Few rows wait for
// b, so they take longer for as many.
inline constexpr std::int64_t kGrainProducts = 128 * 1024;
inline constexpr std::int64_t kFewRowsGrainProducts = 40 * 1024;
inline constexpr std::int64_t kFewRows = 4;

// Columns with those that fill the last panel.
inline std::int64_t padded_columns(std::int64_t n) {
  return (n + kGemmPanel - 1) / kGemmPanel * kGemmPanel;
}

// c [m, n] (+)= a [m, k] times b [k, n]; all borrowed. Operands and outputs have the members of
// GemmOperand and GemmOutput.
template <class Operand, class Output>
struct Work {
  GemmSize size;
  Operand a;
  Operand b;
  Output c;
  // Rows that lie behind these in a whole product, and that this thread probably computes next.
  std::int64_t rows_behind = 0;

  Work columns(std::int64_t begin, std::int64_t end) const {
    Work part = *this;
    part.size.n = end - begin;
    part.b.data += begin * b.column_step;
    part.c.data += begin;
    if (c.bias != nullptr) part.c.bias += begin;
    return part;
  }
  Work rows(std::int64_t begin, std::int64_t end) const {
    Work part = *this;
    part.size.m = end - begin;
    part.a.data += begin * a.row_step;
    part.c.data += begin * c.row_step;
    return part;
  }
};

// The lines of the first `rows` rows of `a`, as deep as `size`, for the tiles of a product of that
// size, which have so many columns. They are what is packed or read next: rows that lie far apart
// in memory would come at its pace, while the multipliers wait. None if its values lie apart along
// both axes.
template <class Operand>
GemmLinesAhead lines_ahead(const Operand& a, std::int64_t rows, const GemmSize& size,
                           std::int64_t tile_columns) {
  constexpr std::int64_t kEachMax = 4;  // more at a time would keep the product's own rows waiting
  constexpr std::int64_t kLineBytes = GemmLinesAhead::kLineBytes;
  constexpr std::int64_t kBytes = sizeof(*a.data);
  const bool is_transposed = a.row_step == 1;
  if (rows == 0 || !(is_transposed || a.column_step == 1)) return {};
  const std::int64_t runs = is_transposed ? size.k : rows;
  const std::int64_t length = kBytes * (is_transposed ? rows : size.k);
  const std::int64_t step = kBytes * (is_transposed ? a.column_step : a.row_step);
  const std::int64_t lines = runs * ((length + kLineBytes - 1) / kLineBytes);
  const std::int64_t times =
      std::max<std::int64_t>(1, size.m * ((size.n + tile_columns - 1) / tile_columns));
  const auto* const begin = reinterpret_cast<const char*>(a.data);
  return {begin, begin + length, length,
          step,  runs,           std::min(kEachMax, (lines + times - 1) / times)};
}

// Whether threads share the rows of such a product, and all columns of b with them; otherwise each
// has columns of its own.
inline bool shares_rows(const GemmSize& size) {
  return size.m >= 2 * kRowsAtOnce && padded_columns(size.n) < size.m;
}

// Calls run(rows) for parts that make up `work`, on the compute threads.
template <class SomeWork, class Run>
void run_rows(const SomeWork& work, const Run& run) {
  const GemmSize& size = work.size;
  const std::int64_t products = padded_columns(size.n) * std::max<std::int64_t>(size.k, 1);
  const std::int64_t grain = std::max<std::int64_t>(6, kGrainProducts / products);
  if (size.m >= kPiecesOfThread * kRowsAtOnce * thread_count() && kRowsOfPiece >= grain) {
    return parallel_pieces(size.m, {kRowsOfPiece, kRowsAtOnce / kRowsOfPiece},
                           [&](std::int64_t begin, std::int64_t end) {
                             SomeWork piece = work.rows(begin, end);
                             piece.rows_behind = size.m - end;
                             run(piece);
                           });
  }
  parallel_for(size.m, grain,
               [&](std::int64_t begin, std::int64_t end) { run(work.rows(begin, end)); });
}

// Calls run(part) for parts that make up `work`, on the compute threads.
template <class SomeWork, class Run>
void run_parts(const SomeWork& work, const Run& run) {
  const GemmSize& size = work.size;
  if (size.m == 0 || size.n == 0) return;
  if (shares_rows(size)) return run_rows(work, run);
  const std::int64_t depth = std::max<std::int64_t>(size.k, 1);
  const std::int64_t products = size.m > kFewRows ? kGrainProducts : kFewRowsGrainProducts;
  const std::int64_t grain = 1 + products / (kGemmPanel * depth * size.m);
  parallel_for(padded_columns(size.n) / kGemmPanel, grain,
               [&](std::int64_t begin, std::int64_t end) {
                 run(work.columns(begin * kGemmPanel, std::min(end * kGemmPanel, size.n)));
               });
}

}  // namespace weft::gemm_blocks
