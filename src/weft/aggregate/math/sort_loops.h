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

struct SortLoops {
  // Sorts the first `count` columns of a table of `rows` rows of `stride` values, smallest first,
  // and stores the rows of `kept` in their places; what is in the others is not defined then.
  // REQUIRES: no NaN, no -0; rows <= kSortedRowsMax; kept within the rows.
  void (*sort)(float* values, std::size_t rows, std::size_t stride, std::size_t count,
               RowRange kept);
};

// sort_loops(): the loops for this processor.
WEFT_LOOPS(SortLoops, sort_loops)

}  // namespace weft
