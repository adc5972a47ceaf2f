// Orders along an axis: sort, topk, kthvalue, median.
//
// NaN counts as larger than every number, as in PyTorch; all are stable: of equal values the first
// stays first. Any dtype; floating values carry gradients to where they came from. Positions are
// i64. All can be captured. std::invalid_argument on an axis or a count that does not fit.
#pragma once

#include <cstdint>

#include "weft/autograd/tensor.h"

namespace weft {

struct Ordered {
  Tensor values;
  Tensor indices;  // i64: values = gather(x, axis, indices)
};

Ordered sort(const Tensor& x, int axis = -1, bool descending = false);
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
// The `count` largest (smallest) along `axis`, in that order.
Ordered topk(const Tensor& x, std::int64_t count, int axis = -1, bool largest = true);
// The k-th smallest value, k from 1. With keepdims the axis stays with length 1.
Ordered kthvalue(const Tensor& x, std::int64_t k, int axis = -1, bool keepdims = false);
// The lower of two middle values; NaN if there is a NaN.
Ordered median(const Tensor& x, int axis = -1, bool keepdims = false);
// The median of all values, a scalar; values equal to it share the gradient.
Tensor median_of_all(const Tensor& x);

}  // namespace weft
