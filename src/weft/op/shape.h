// Operations that move values or view them in another shape. Views where possible, no copies.
//
// All throw std::invalid_argument on an axis or a shape that does not fit.
#pragma once

#include <cstdint>
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
// At least one tensor; all shapes equal but along `axis`, types promoted. Copies.
Tensor concat(std::span<const Tensor> parts, int axis);
inline Tensor concat(const std::vector<Tensor>& parts, int axis) {
  return concat(std::span<const Tensor>(parts), axis);
}

// The parts behind each other along a new axis before `axis`, in [-ndim - 1, ndim].
Tensor stack(std::span<const Tensor> parts, int axis = 0);
inline Tensor stack(const std::vector<Tensor>& parts, int axis = 0) {
  return stack(std::span<const Tensor>(parts), axis);
}
// Parts of these lengths, which sum to the axis's; views that share one gradient.
std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& lengths, int axis = 0);
// Parts of `length`, the last one shorter if it does not divide the axis.
std::vector<Tensor> split(const Tensor& x, std::int64_t length, int axis = 0);
// At most `count` parts of equal length but the last.
std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int axis = 0);
// The slice at `position` along `axis`, without that axis; a view. Negative ones count from the
// end.
Tensor select(const Tensor& x, int axis, std::int64_t position);
// The slices along `axis` without it.
std::vector<Tensor> unbind(const Tensor& x, int axis = 0);

// `counts` copies along each axis, aligned at the last; new leading axes for more counts. repeat
// needs at least as many counts as axes (PyTorch), tile fills with 1 (NumPy).
Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts);
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts);
// Each slice along `axis` `count` times in a row.
Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis);
// Moves values by shifts[i] along axes[i]; values that leave at one end enter at the other.
Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes);
// Backwards along the axes; a view.
Tensor flip(const Tensor& x, const std::vector<int>& axes);

enum class PadMode : std::uint8_t { kConstant, kReflect, kReplicate };
struct AxisPadding {
  std::int64_t before = 0;
  std::int64_t after = 0;
};
// padding[i] is that of axis ndim - padding.size() + i: the last axes, in order. kConstant writes
// `value`; with it a negative padding cuts values off. kReflect does not repeat the edge and needs
// less padding than values.
Tensor pad(const Tensor& x, const std::vector<AxisPadding>& padding,
           PadMode mode = PadMode::kConstant, double value = 0.0);
// `dilation` zeros behind each value along the axes: length n becomes n (dilation + 1).
Tensor dilate(const Tensor& x, const std::vector<int>& axes, std::int64_t dilation);
// Takes them out again: every (dilation + 1)-th value; a view.
Tensor undilate(const Tensor& x, const std::vector<int>& axes, std::int64_t dilation);

// A new axis of length 1 before `axis`, in [-ndim - 1, ndim].
Tensor unsqueeze(const Tensor& x, int axis);
// Without `axis` if its length is 1; without all axes of length 1.
Tensor squeeze(const Tensor& x, int axis);
Tensor squeeze(const Tensor& x);
// Axis from[i] becomes axis to[i]; the others keep their order.
Tensor movedim(const Tensor& x, const std::vector<int>& from, const std::vector<int>& to);

// The diagonal i - j = -offset of two axes, as the last axis; a view.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis_a = 0, int axis_b = 1);
// Square matrices with the last axis of x on the diagonal `offset` and 0 elsewhere.
Tensor diag_embed(const Tensor& x, std::int64_t offset = 0);
// diag_embed of a vector, diagonal of a matrix.
Tensor diag(const Tensor& x, std::int64_t offset = 0);
// The last two axes with 0 below (above) the diagonal.
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);

// Windows of `size` along `axis`, `step` apart, as a new last axis; a view.
Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step);
// The adjoint of unfold: windows added up where they overlap; the axis gets `length`.
Tensor fold(const Tensor& windows, int axis, std::int64_t length, std::int64_t step);

}  // namespace weft
