// Sums, means and maxima over any axes.
//
// `axes` may be negative and in any order, each once; none given means all. With keepdims the
// reduced axes stay with length 1. std::invalid_argument on axes that do not fit.
#pragma once

#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

// Partial sums combine pairwise, in the same order for any thread count.
Tensor sum(const Tensor& x, const std::vector<int>& axes = {}, bool keepdims = false);
// NaN over no values.
Tensor mean(const Tensor& x, const std::vector<int>& axes = {}, bool keepdims = false);
// NaN if any value is; std::invalid_argument over no values. Equal maxima share the gradient.
Tensor max(const Tensor& x, const std::vector<int>& axes = {}, bool keepdims = false);

}  // namespace weft
