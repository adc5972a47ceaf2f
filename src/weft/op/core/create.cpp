#include "weft/op/create.h"

#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/array/launch.h"
#include "weft/kernel/index/arrange.h"
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

constexpr std::uint64_t kArangeMax = 1'000'000'000'000'000;

// Value i is f(i), for the host: a constant of captured graphs.
template <class Function>
Tensor counted(std::int64_t count, DType dtype, const Function& f) {
  Array values = Array::empty({count}, DType::kF64);
  double* const out = values.data<double>();
  for (std::int64_t i = 0; i < count; ++i) out[i] = f(static_cast<double>(i));
  launch_constant(values);
  return Tensor(values.to(dtype));
}

}  // namespace

Tensor full(const Shape& shape, double value, DType dtype) {
  return Tensor(Array::full(shape, value, dtype));
}

Tensor arange(double start, double stop, double step, DType dtype) {
  const double count = std::ceil((stop - start) / step);
  if (!std::isfinite(count) || count < 0 || count > 1e15) {
    throw_operand(
        "arange", "a step that leads from start to stop",
        std::to_string(start) + ", " + std::to_string(stop) + ", " + std::to_string(step));
  }
  return counted(static_cast<std::int64_t>(count), dtype,
                 [=](double i) { return start + i * step; });
}

Tensor arange(std::int64_t count) {
  if (count < 0) throw_operand("arange", "a count of 0 or more", std::to_string(count));
  return counted(count, DType::kI64, [](double i) { return i; });
}

Tensor arange_whole(std::int64_t start, std::int64_t stop, std::int64_t step) {
  // Distances of 64-bit numbers are below 2^64; unsigned differences are right beyond 2^63.
  const auto apart = [](std::int64_t low, std::int64_t high) {
    return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  };
  const bool up = step > 0;
  if (step == 0 || (up ? start > stop : start < stop)) {
    throw_operand("arange", "a step that leads from start to stop",
                  fmt::format("{}, {}, {}", start, stop, step));
  }
  const std::uint64_t distance = up ? apart(start, stop) : apart(stop, start);
  const std::uint64_t stride = up ? apart(0, step) : apart(step, 0);
  const std::uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (count > kArangeMax) {
    throw_operand("arange", fmt::format("at most {} values", kArangeMax), std::to_string(count));
  }
  Array values = Array::empty({static_cast<std::int64_t>(count)}, DType::kI64);
  auto next = static_cast<std::uint64_t>(start);
  for (std::int64_t& value : values.flat<std::int64_t>()) {
    value = static_cast<std::int64_t>(next);
    next += static_cast<std::uint64_t>(step);
  }
  launch_constant(values);
  return Tensor(std::move(values));
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype) {
  if (count < 0) throw_operand("linspace", "a count of 0 or more", std::to_string(count));
  const double last = static_cast<double>(count - 1);
  return counted(count, dtype, [=](double i) {
    // From the nearer end, so that both ends are exact.
    if (last == 0) return start;
    return i * 2 <= last ? start + (stop - start) * (i / last)
                         : stop - (stop - start) * ((last - i) / last);
  });
}

Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype) {
  if (columns == -1) columns = rows;
  if (rows < 0 || columns < 0) {
    throw_operand("eye", "sizes of 0 or more", to_string(Dims{rows, columns}));
  }
  Array y = Array::zeros({rows, columns}, dtype);
  const std::int64_t count = std::min(rows, columns);
  if (count > 0) y.as_strided({count}, {columns + 1}).fill(1);
  return Tensor(std::move(y));
}

Tensor one_hot(const IndexOperand& labels, std::int64_t classes, DType dtype) {
  if (classes < 1) throw_operand("one_hot", "at least one class", std::to_string(classes));
  return Tensor(one_hot_rows(labels.indexes("one_hot", "labels"), classes, dtype));
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, GridOrder order) {
  Shape shape;
  for (const Tensor& vector : vectors) {
    if (vector.ndim() > 1) throw_operand("meshgrid", "vectors", to_string(vector.shape()));
    shape.push_back(vector.size());
  }
  std::vector<Tensor> grid;
  for (int i = 0; i < shape.size(); ++i) {
    Shape one = Dims::filled(shape.size(), 1);
    one[i] = shape[i];
    Tensor axis = expand(reshape(vectors[static_cast<std::size_t>(i)], one), shape);
    if (order == GridOrder::kXy && shape.size() > 1) axis = transpose(axis, 0, 1);
    grid.push_back(std::move(axis));
  }
  return grid;
}

}  // namespace weft
