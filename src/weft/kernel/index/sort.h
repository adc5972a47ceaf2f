// Orders along the last axis, and counting and searching in values.
//
// NaN is larger than every number, as in PyTorch. All orders are stable: equal values keep their
// order, so the result is one and the same for any thread count.
#pragma once

#include "weft/array/array.h"

namespace weft {

// The positions that put each row in order, i64 of x's shape.
Array argsort_rows(const Array& x, bool descending);

// Those of the `count` <= dim(-1) first in that order, in that order: [..., count].
Array partial_argsort_rows(const Array& x, std::int64_t count, bool descending);

// The position of the lower median of each row, of its first NaN if it has one: [..., 1]. Rows are
// not empty.
Array median_rows(const Array& x);

// For each value the number of elements of its row of `sorted` before it (right: not after it).
// Both contiguous, of one type; sorted [K], or [..., K] with the leading axes of `values`.
Array searchsorted_rows(const Array& sorted, const Array& values, bool right);

}  // namespace weft
