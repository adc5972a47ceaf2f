// Reductions over any axes, and running values along one.
//
// `axes` is one axis or several, sum(x, 1) or sum(x, {0, -1}): they may be negative and in any
// order, each once; none given means all. With keepdims the reduced axes stay with length 1. Sums
// of bf16 and f16 are taken in f64 and rounded once; sums and products of integers and bool are
// i64. std::invalid_argument on axes that do not fit.
#pragma once

#include <concepts>
#include <initializer_list>
#include <utility>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

// One axis, several, or none. From int alone: a bool or a double in its place is a mistake.
class Axes {
 public:
  Axes() = default;
  template <std::same_as<int> Int>
  Axes(Int axis) : axes_{axis} {}                             // NOLINT(google-explicit-constructor)
  Axes(std::initializer_list<int> axes) : axes_(axes) {}      // NOLINT(google-explicit-constructor)
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}     // NOLINT(google-explicit-constructor)
  operator const std::vector<int>&() const { return axes_; }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<int> axes_;
};

// Partial sums combine pairwise, in the same order for any thread count.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// NaN over no values. Floating types.
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// The gradient is exact where values are 0.
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// NaN if any value is; std::invalid_argument over no values. Equal extremes share the gradient.
// PyTorch's amax and amin.
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
inline Tensor amax(const Tensor& x, const Axes& axes = {}, bool keepdims = false) {
  return max(x, axes, keepdims);
}
inline Tensor amin(const Tensor& x, const Axes& axes = {}, bool keepdims = false) {
  return min(x, axes, keepdims);
}
// The first position of the extreme, as i64, NaN counting as one; without an axis in the array seen
// as one row. std::invalid_argument over no values.
Tensor argmax(const Tensor& x, int axis, bool keepdims = false);
Tensor argmax(const Tensor& x);
Tensor argmin(const Tensor& x, int axis, bool keepdims = false);
Tensor argmin(const Tensor& x);

// The mean squared distance from the mean, over n - 1 (unbiased) or n; stddev is its root.
Tensor var(const Tensor& x, const Axes& axes = {}, bool unbiased = true, bool keepdims = false);
Tensor stddev(const Tensor& x, const Axes& axes = {}, bool unbiased = true, bool keepdims = false);
// log(sum(e^x)), finite for any finite x; -inf over no values.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// (sum |x|^p)^(1/p); the largest |x| for p = infinity, the smallest for -infinity, the number of
// values that are not 0 for p = 0. The gradient of p = 2 where all are 0 is 0.
Tensor norm(const Tensor& x, double p = 2.0, const Axes& axes = {}, bool keepdims = false);

// bool: whether any, whether all values are not 0 (NaN counts as such).
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// i64.
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdims = false);

// Running sums and products along `axis`; of integers and bool in i64.
Tensor cumsum(const Tensor& x, int axis);
Tensor cumprod(const Tensor& x, int axis);

}  // namespace weft
