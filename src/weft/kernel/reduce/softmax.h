// Softmax and its logarithm, row by row along the last axis, of any floating type.
//
// Stable for any finite input: a row's largest value is taken off first. Sums are in f64; bf16 and
// f16 are computed in f32 and rounded once. Rows are split over the threads, so values do not
// depend on their number.
// Fails: integer types throw std::invalid_argument.
#pragma once

#include "weft/array/array.h"

namespace weft {

// `x` has at least one axis and any strides; results are contiguous.
Array softmax_rows(const Array& x);
Array log_softmax_rows(const Array& x);
// The gradient of x from that of the result `y`.
Array softmax_rows_gradient(const Array& y, const Array& dy);
Array log_softmax_rows_gradient(const Array& y, const Array& dy);

}  // namespace weft
