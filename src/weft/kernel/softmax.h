// Softmax, its logarithm and the cross-entropy, row by row along the last axis, f32 or f64.
//
// Stable for any finite input: a row's largest value is taken off first. Sums are in f64. Rows are
// split over the threads, so values do not depend on their number.
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

struct CrossEntropyRows {
  double loss_sum;
  Array probabilities;  // [N, C]; undefined if not asked for
};
// `logits` [N, C], `targets` contiguous i64 [N]. A target outside [0, C) throws
// std::invalid_argument "[cross_entropy] ...".
CrossEntropyRows cross_entropy_rows(const Array& logits, const Array& targets,
                                    bool with_probabilities);
// scale * (probabilities - one_hot(targets)).
Array cross_entropy_rows_gradient(const Array& probabilities, const Array& targets, double scale);

}  // namespace weft
