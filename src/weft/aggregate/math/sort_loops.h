// SortLoops: sorts the columns of a table, compiled once for each instruction set.
//
// A network of comparisons sorts a column; it depends on the number of rows alone, so a register
// holds as many columns as it has lanes. Sixteen rows are sorted within registers, and sorted parts
// are merged in passes of two or three layers each, so that a value is loaded and stored about once
// for three comparisons. Sorting moves values without changing them: all sets give the same bits.
// IMPLEMENTATION: the odd-even merge sort of K. E. Batcher, "Sorting networks and their
// applications", 1968. Cost: about n log2(n)^2 / 4 comparisons a column, 543 of 64 rows.
// Where it stands: columns.h. Threads: any. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// The most rows that are sorted.
inline constexpr std::size_t kSortedRowsMax = 256;

// Rows [begin, end).
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// A table: row r has its value of column i at rows[r][i].
struct SortedTable {
  const float* const* rows = nullptr;
  std::size_t count = 0;  // of rows, at most kSortedRowsMax
  std::size_t columns = 0;
};

// NaN counts as infinity and -0 as 0, so that values have one order.
struct SortLoops {
  // The rows of `kept` of the table whose columns are sorted, smallest first: row kept.begin + j at
  // sorted + j * stride. REQUIRES: kept within the rows.
  void (*sort)(const SortedTable& table, RowRange kept, float* sorted, std::size_t stride);
  // out[i] = the mean of those rows, added in their order and in f64. REQUIRES: kept is not empty.
  void (*means)(const SortedTable& table, RowRange kept, float* out);
};

// sort_loops(): the loops for this processor.
WEFT_LOOPS(SortLoops, sort_loops)

}  // namespace weft
