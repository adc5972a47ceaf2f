// Merges axes, splits the output over threads and walks the rest with an odometer; the loops are
// in rows_loops.inc.
#include "weft/kernel/elementwise.h"

#include <array>
#include <stdexcept>
#include <string>

#include "weft/base/parallel.h"
#include "weft/kernel/rows.h"

namespace weft {
namespace {

// Outputs a thread takes at least.
constexpr std::int64_t kGrain = 16'384;

// One or two operands laid over the output's shape, axes merged. The last axis is the run.
struct Walk {
  int axes = 0;
  std::array<std::int64_t, Dims::kDimsMax> sizes{};
  std::array<std::array<std::int64_t, Dims::kDimsMax>, 2> strides{};

  void push(std::int64_t size, std::int64_t stride0, std::int64_t stride1) {
    const auto last = static_cast<std::size_t>(axes);
    sizes[last] = size;
    strides[0][last] = stride0;
    strides[1][last] = stride1;
    ++axes;
  }

  // Whether the axis before continues where one of (size, stride) ends.
  bool continues(std::int64_t size, std::int64_t stride0, std::int64_t stride1) const {
    if (axes == 0) return false;
    const auto last = static_cast<std::size_t>(axes - 1);
    return strides[0][last] == size * stride0 && strides[1][last] == size * stride1;
  }
};

std::int64_t stride_over(const Array& operand, int axis, int ndim) {
  const int own = axis - (ndim - operand.ndim());
  return own < 0 || operand.shape()[own] == 1 ? 0 : operand.strides()[own];
}

Walk make_walk(const Shape& shape, const Array& a, const Array* b) {
  Walk walk;
  for (int axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t size = shape[axis];
    if (size == 1) continue;
    const std::int64_t stride0 = stride_over(a, axis, shape.size());
    const std::int64_t stride1 = b == nullptr ? 0 : stride_over(*b, axis, shape.size());
    if (walk.continues(size, stride0, stride1)) {
      const auto last = static_cast<std::size_t>(walk.axes - 1);
      walk.sizes[last] *= size;
      walk.strides[0][last] = stride0;
      walk.strides[1][last] = stride1;
    } else {
      walk.push(size, stride0, stride1);
    }
  }
  if (walk.axes == 0) walk.push(1, 0, 0);
  return walk;
}

// Calls run(output index, offset in a, offset in b, count) for the runs of [begin, end).
template <class Run>
void walk_range(const Walk& walk, std::int64_t begin, std::int64_t end, const Run& run) {
  const int last = walk.axes - 1;
  std::array<std::int64_t, Dims::kDimsMax> index{};
  std::array<std::int64_t, 2> offset{};
  std::int64_t rest = begin;
  for (int axis = last; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    index[i] = rest % walk.sizes[i];
    rest /= walk.sizes[i];
    offset[0] += index[i] * walk.strides[0][i];
    offset[1] += index[i] * walk.strides[1][i];
  }
  const auto inner = static_cast<std::size_t>(last);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t count = std::min(walk.sizes[inner] - index[inner], end - at);
    run(at, offset[0], offset[1], count);
    at += count;
    index[inner] += count;
    offset[0] += count * walk.strides[0][inner];
    offset[1] += count * walk.strides[1][inner];
    for (std::size_t i = inner; i > 0 && index[i] == walk.sizes[i]; --i) {
      offset[0] += walk.strides[0][i - 1] - index[i] * walk.strides[0][i];
      offset[1] += walk.strides[1][i - 1] - index[i] * walk.strides[1][i];
      index[i] = 0;
      ++index[i - 1];
    }
  }
}

const std::uint8_t* bytes_of(const Array& array) {
  return static_cast<const std::uint8_t*>(array.raw_data());
}

struct BinaryOperands {
  const std::uint8_t* a;
  const std::uint8_t* b;
};

void run_binary(BinaryRow row, const Walk& walk, BinaryOperands operands, Array& out) {
  const auto item = static_cast<std::int64_t>(size_of(out.dtype()));
  auto* const target = static_cast<std::uint8_t*>(out.raw_data());
  const auto inner = static_cast<std::size_t>(walk.axes - 1);
  const std::int64_t step0 = walk.strides[0][inner];
  const std::int64_t step1 = walk.strides[1][inner];
  parallel_for(out.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    walk_range(
        walk, begin, end,
        [&](std::int64_t at, std::int64_t offset0, std::int64_t offset1, std::int64_t count) {
          row({operands.a + offset0 * item, step0}, {operands.b + offset1 * item, step1},
              target + at * item, count);
        });
  });
}

BinaryRow binary_row_of(BinaryOp op, DType dtype) {
  return row_kernels().binary[static_cast<std::size_t>(op)][float_index("elementwise", dtype)];
}

// A value as an array of its type, on the stack.
struct Scalar {
  explicit Scalar(double value) : f64(value), f32(static_cast<float>(value)) {}
  const std::uint8_t* bytes(DType dtype) const {
    return dtype == DType::kF32 ? reinterpret_cast<const std::uint8_t*>(&f32)
                                : reinterpret_cast<const std::uint8_t*>(&f64);
  }
  double f64;
  float f32;
};

}  // namespace

Array unary(UnaryOp op, const Array& a) {
  const UnaryRow row =
      row_kernels().unary[static_cast<std::size_t>(op)][float_index("elementwise", a.dtype())];
  const Array source = a.strided();
  Array out = Array::empty(a.shape(), a.dtype());
  const auto item = static_cast<std::int64_t>(size_of(a.dtype()));
  const std::uint8_t* const from = bytes_of(source);
  auto* const to = static_cast<std::uint8_t*>(out.raw_data());
  const Walk walk = make_walk(a.shape(), source, nullptr);
  const std::int64_t step = walk.strides[0][static_cast<std::size_t>(walk.axes - 1)];
  parallel_for(out.size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    walk_range(walk, begin, end,
               [&](std::int64_t at, std::int64_t offset, std::int64_t, std::int64_t count) {
                 row(from + offset * item, step, to + at * item, count);
               });
  });
  return out;
}

void binary_into(BinaryOp op, const Array& a, const Array& b, Array& out) {
  const Array left = a.strided();
  const Array right = b.strided();
  run_binary(binary_row_of(op, out.dtype()), make_walk(out.shape(), left, &right),
             {bytes_of(left), bytes_of(right)}, out);
}

Array binary(BinaryOp op, const Array& a, const Array& b) {
  if (a.dtype() != b.dtype()) {
    throw std::invalid_argument("[elementwise] expected operands of one type, got " +
                                std::string(to_string(a.dtype())) + " and " +
                                std::string(to_string(b.dtype())));
  }
  Array out = Array::empty(
      a.shape() == b.shape() ? a.shape() : broadcast_shapes(a.shape(), b.shape()), a.dtype());
  binary_into(op, a, b, out);
  return out;
}

Array binary(BinaryOp op, const Array& a, double b) {
  const Array left = a.strided();
  const Scalar right(b);
  Array out = Array::empty(a.shape(), a.dtype());
  run_binary(binary_row_of(op, a.dtype()), make_walk(a.shape(), left, nullptr),
             {bytes_of(left), right.bytes(a.dtype())}, out);
  return out;
}

Array binary(BinaryOp op, double a, const Array& b) {
  const Scalar left(a);
  const Array right = b.strided();
  Array out = Array::empty(b.shape(), b.dtype());
  Walk walk = make_walk(b.shape(), right, nullptr);
  std::swap(walk.strides[0], walk.strides[1]);
  run_binary(binary_row_of(op, b.dtype()), walk, {left.bytes(b.dtype()), bytes_of(right)}, out);
  return out;
}

void accumulate(const Array& source, Array& target) {
  binary_into(BinaryOp::kAdd, target, source, target);
}

}  // namespace weft
