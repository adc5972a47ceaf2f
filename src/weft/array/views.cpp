// Views of Array made of slice, permute and as_strided, which check what they are given.
#include <algorithm>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "weft/array/array.h"
#include "weft/array/bad_argument.h"

namespace weft {
Array Array::flatten(int first, int last) const {
  if (ndim() == 0) return reshape({1});
  const int begin = normalize_axis("flatten", first, ndim());
  const int end = normalize_axis("flatten", last, ndim());
  if (begin > end) {
    throw_bad_argument("flatten", "a first axis before the last",
                       fmt::format("{} and {}", first, last));
  }
  Shape shape;
  std::int64_t joined = 1;
  for (int axis = 0; axis < ndim(); ++axis) {
    if (axis >= begin && axis <= end) joined *= shape_[axis];
    if (axis == end) {
      shape.push_back(joined);
    } else if (axis < begin || axis > end) {
      shape.push_back(shape_[axis]);
    }
  }
  return reshape(shape);
}

Array Array::movedim(int from, int to) const {
  const int source = normalize_axis("movedim", from, ndim());
  const int target = normalize_axis("movedim", to, ndim());
  std::vector<int> axes;
  for (int axis = 0; axis < ndim(); ++axis) {
    if (axis != source) axes.push_back(axis);
  }
  axes.insert(axes.begin() + target, source);
  return permute(axes);
}

Array Array::flip(std::span<const int> axes) const {
  Array view = strided();
  unsigned seen = 0;
  for (const int given : axes) {
    const int axis = normalize_axis("flip", given, ndim());
    if ((seen >> axis & 1U) != 0)
      throw_bad_argument("flip", "each axis once", fmt::format("{} twice", given));
    seen |= 1U << axis;
    view = view.slice(axis, {}, {}, -1);
  }
  return view;
}

Array Array::unfold(int axis, std::int64_t size, std::int64_t step) const {
  const int at = normalize_axis("unfold", axis, ndim());
  const std::int64_t length = shape_[at];
  if (size < 0 || size > length) {
    throw_bad_argument("unfold", fmt::format("windows of at most {}", length),
                       std::to_string(size));
  }
  if (step <= 0) throw_bad_argument("unfold", "a step of at least 1", std::to_string(step));
  const Array view = strided();
  Shape shape = view.shape();
  Strides strides = view.strides();
  shape.push_back(size);
  strides.push_back(strides[at]);
  shape[at] = (length - size) / step + 1;
  // One window alone has no way to the next, which could be too long for an integer.
  strides[at] = shape[at] > 1 ? strides[at] * step : strides[at];
  return view.as_strided(shape, strides);
}

Array Array::diagonal(std::int64_t offset, int row_axis, int column_axis) const {
  const int row = normalize_axis("diagonal", row_axis, ndim());
  const int column = normalize_axis("diagonal", column_axis, ndim());
  if (row == column) throw_bad_argument("diagonal", "two axes", fmt::format("{} twice", row_axis));
  const Array view = strided();
  const std::int64_t at = std::clamp(offset, -shape_[row], shape_[column]);
  const std::int64_t down = std::max<std::int64_t>(-at, 0);
  const std::int64_t right = std::max<std::int64_t>(at, 0);
  const std::int64_t length = std::min(shape_[row] - down, shape_[column] - right);
  Shape shape = view.shape();
  Strides strides = view.strides();
  const std::int64_t row_step = strides[row];
  const std::int64_t column_step = strides[column];
  shape.erase(std::max(row, column));
  shape.erase(std::min(row, column));
  strides.erase(std::max(row, column));
  strides.erase(std::min(row, column));
  shape.push_back(length);
  strides.push_back(row_step + column_step);
  return view.as_strided(shape, strides, length == 0 ? 0 : down * row_step + right * column_step);
}

std::vector<Array> Array::split(const std::vector<std::int64_t>& lengths, int axis) const {
  const int at = normalize_axis("split", axis, ndim());
  std::vector<Array> parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    if (length < 0 || length > shape_[at] - begin) break;
    parts.push_back(slice(at, begin, begin + length));
    begin += length;
  }
  if (parts.size() != lengths.size() || begin != shape_[at]) {
    throw_bad_argument("split", fmt::format("lengths that sum to {}", shape_[at]),
                       fmt::format("{} lengths", lengths.size()));
  }
  return parts;
}

std::vector<Array> Array::split(std::int64_t length, int axis) const {
  const int at = normalize_axis("split", axis, ndim());
  if (length <= 0) throw_bad_argument("split", "a length of at least 1", std::to_string(length));
  std::vector<std::int64_t> lengths;
  for (std::int64_t left = shape_[at]; left > 0; left -= std::min(left, length)) {
    lengths.push_back(std::min(left, length));
  }
  if (lengths.empty()) lengths.push_back(0);
  return split(lengths, at);
}

std::vector<Array> Array::chunk(std::int64_t count, int axis) const {
  const int at = normalize_axis("chunk", axis, ndim());
  if (count <= 0) throw_bad_argument("chunk", "a count of at least 1", std::to_string(count));
  return split(std::max<std::int64_t>(1, (shape_[at] + count - 1) / count), at);
}

}  // namespace weft
