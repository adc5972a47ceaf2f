// Operations that move values or look at them in another shape. Views where possible, no copies.
//
// All throw std::invalid_argument on an axis or a shape that does not fit.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft {

// One dimension may be -1.
Tensor reshape(const Tensor& x, const Shape& shape);
// Joins the axes from `start_axis` on into one.
Tensor flatten(const Tensor& x, int start_axis = 1);
Tensor transpose(const Tensor& x, int axis_a, int axis_b);
// axes[i] is the axis of `x` that becomes axis i.
Tensor permute(const Tensor& x, const std::vector<int>& axes);

// Python's x[start:stop:step] along one axis, as Array::slice.
Tensor slice(const Tensor& x, int axis, std::optional<std::int64_t> start,
             std::optional<std::int64_t> stop, std::int64_t step = 1);
// Broadcasts to `shape`.
Tensor expand(const Tensor& x, const Shape& shape);
// At least one tensor; all shapes equal but along `axis`. Copies.
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(const std::vector<Tensor>& parts, int axis) {
  return concat(std::span<const Tensor>(parts), axis);
}

}  // namespace weft
