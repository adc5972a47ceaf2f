#include "weft/op/core/sample.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "weft/base/rng.h"

namespace weft {

Array sample_values(const Shape& shape, std::uint64_t seed, double low, double high) {
  Array result = Array::empty(shape, DType::kF64);
  const auto size = static_cast<std::size_t>(result.size());
  std::vector<std::size_t> slots(size);
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  Rng rng(seed, 7);
  for (std::size_t i = size; i > 1; --i) std::swap(slots[i - 1], slots[rng.below(i)]);
  // One value in the middle half of each of `size` slots.
  const double width = (high - low) / static_cast<double>(std::max<std::size_t>(size, 1));
  double* const values = result.data<double>();
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = low + width * (static_cast<double>(slots[i]) + 0.25 + 0.5 * rng.uniform());
  }
  return result;
}

Array sample_values(const Shape& shape, std::uint64_t seed, ValueRange range) {
  return sample_values(shape, seed, range.low, range.high);
}

Array map_values(const Array& a, const std::function<double(double)>& f) {
  Array result = Array::empty(a.shape(), DType::kF64);
  for (std::int64_t i = 0; i < a.size(); ++i) result.data<double>()[i] = f(a.data<double>()[i]);
  return result;
}

Array map_values(const Array& a, const Array& b, const std::function<double(double, double)>& f) {
  const Shape shape = broadcast_shapes(a.shape(), b.shape());
  // The row-major position in `operand` of the element that meets output element `index`.
  const auto position = [&shape](const Array& operand, std::int64_t index) {
    std::int64_t result = 0;
    std::int64_t stride = 1;
    for (int axis = shape.size() - 1; axis >= shape.size() - operand.ndim(); --axis) {
      const std::int64_t own = operand.shape()[axis - (shape.size() - operand.ndim())];
      if (own != 1) result += index % shape[axis] * stride;
      stride *= own;
      index /= shape[axis];
    }
    return result;
  };
  Array result = Array::empty(shape, DType::kF64);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    result.data<double>()[i] =
        f(a.data<double>()[position(a, i)], b.data<double>()[position(b, i)]);
  }
  return result;
}

std::vector<OpSample> unary_samples(const UnaryTensorOp& op,
                                    const std::function<double(double)>& reference,
                                    ValueRange range) {
  const auto sample = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return OpSample{
        name,
        {sample_values(shape, seed, range)},
        [op](std::span<const Tensor> in) { return op(in[0]); },
        [reference](std::span<const Array> in) { return map_values(in[0], reference); }};
  };
  return {sample("3x5", {3, 5}, 1), sample("2x3x7", {2, 3, 7}, 2), sample("scalar", {}, 3),
          sample("one element", {1, 1}, 4), sample("no elements", {0, 3}, 5)};
}

std::vector<OpSample> binary_samples(const BinaryTensorOp& op,
                                     const std::function<double(double, double)>& reference,
                                     ValueRange range_b) {
  const auto sample = [&](const char* name, const Shape& a, const Shape& b) {
    return OpSample{
        name,
        {sample_values(a, 11), sample_values(b, 12, range_b)},
        [op](std::span<const Tensor> in) { return op(in[0], in[1]); },
        [reference](std::span<const Array> in) { return map_values(in[0], in[1], reference); }};
  };
  return {sample("same shape", {3, 5}, {3, 5}), sample("row", {4, 3}, {3}),
          sample("column", {4, 3}, {4, 1}),     sample("both broadcast", {2, 1, 5}, {3, 1}),
          sample("scalar", {}, {2, 3}),         sample("one element", {1}, {1}),
          sample("no elements", {0, 3}, {1, 3})};
}

// Every output gathers its values by walking all of x.
static Array reduce_values(const Array& x, const std::vector<int>& axes, bool keepdims,
                           const std::function<double(std::span<const double>)>& f) {
  std::vector<bool> reduced(static_cast<std::size_t>(x.ndim()), axes.empty());
  for (const int axis : axes) {
    reduced[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)] = true;
  }
  Shape shape;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (!reduced[static_cast<std::size_t>(axis)]) {
      shape.push_back(x.shape()[axis]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(shape.num_elements()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    std::int64_t rest = i;
    std::int64_t output = 0;
    std::int64_t stride = 1;
    for (int axis = x.ndim() - 1; axis >= 0; --axis) {
      if (!reduced[static_cast<std::size_t>(axis)]) {
        output += rest % x.shape()[axis] * stride;
        stride *= x.shape()[axis];
      }
      rest /= x.shape()[axis];
    }
    groups[static_cast<std::size_t>(output)].push_back(x.data<double>()[i]);
  }
  Array y = Array::empty(shape, DType::kF64);
  for (std::size_t i = 0; i < groups.size(); ++i) y.data<double>()[i] = f(groups[i]);
  return y;
}

std::vector<OpSample> reduce_samples(
    const ReduceTensorOp& op, const std::function<double(std::span<const double>)>& reference) {
  const auto sample = [&](const char* name, const Shape& shape, const std::vector<int>& axes,
                          bool keepdims) {
    return OpSample{
        name,
        {sample_values(shape, 81)},
        [=](std::span<const Tensor> in) { return op(in[0], axes, keepdims); },
        [=](std::span<const Array> in) { return reduce_values(in[0], axes, keepdims, reference); }};
  };
  return {sample("all", {3, 5}, {}, false),
          sample("rows", {3, 5}, {0}, false),
          sample("columns, kept", {3, 5}, {-1}, true),
          sample("outer axes", {2, 3, 4, 5}, {3, 0, 2}, false),
          sample("middle axis", {2, 7, 3}, {1}, false),
          sample("scalar", {}, {}, false),
          sample("one element", {1, 1}, {1}, false),
          sample("no outputs", {0, 3}, {1}, false),
          sample("over no values", {0, 3}, {0}, false)};
}

}  // namespace weft
