// diagonal: the values of two axes whose positions differ by a number; a view. Its gradient lies on
// the same diagonal of zeros (diag_embed for the last two axes).
#include <algorithm>

#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {
namespace {

// No matrix of a larger side fits into memory.
constexpr std::int64_t kOffsetMax = std::int64_t{1} << 31;

struct Diagonal {
  int row_axis;
  int column_axis;
  std::int64_t offset;

  Array of(const Array& x) const {
    Shape shape;
    Strides strides;
    for (int i = 0; i < x.ndim(); ++i) {
      if (i == row_axis || i == column_axis) continue;
      shape.push_back(x.shape()[i]);
      strides.push_back(x.strides()[i]);
    }
    const std::int64_t rows = x.shape()[row_axis];
    const std::int64_t columns = x.shape()[column_axis];
    // Further out than the corners all diagonals are empty.
    const std::int64_t down = -std::clamp<std::int64_t>(offset, -rows, 0);
    const std::int64_t right = std::clamp<std::int64_t>(offset, 0, columns);
    const std::int64_t length = std::min(rows - down, columns - right);
    const std::int64_t row_step = x.strides()[row_axis];
    const std::int64_t column_step = x.strides()[column_axis];
    shape.push_back(length);
    strides.push_back(row_step + column_step);
    return x.as_strided(shape, strides, length == 0 ? 0 : down * row_step + right * column_step);
  }
  Array put(const Array& values, const Shape& shape) const {
    Array y = Array::zeros(shape, values.dtype(), values.device());
    of(y).copy_from(values.strided());
    return y;
  }
};

// Zeros of `shape` with x on the diagonal.
Tensor put_diagonal(const Tensor& x, const Shape& shape, const Diagonal& at) {
  return record(
      "diag_embed", at.put(x.array(), shape), {&x},
      [at](const Array& dy, const InputGradients& dx) { dx.add(0, at.of(dy.strided())); },
      [at](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, diagonal(dy, at.offset, at.row_axis, at.column_axis));
      });
}

}  // namespace

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis_a, int axis_b) {
  const Diagonal at{normalize_axis("diagonal", axis_a, x.ndim()),
                    normalize_axis("diagonal", axis_b, x.ndim()), offset};
  if (at.row_axis == at.column_axis) {
    throw_operand("diagonal", "two axes", std::to_string(axis_a) + " twice");
  }
  return record(
      "diagonal", at.of(x.array().strided()), {&x},
      [at, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, at.put(dy, shape));
      },
      [at, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, put_diagonal(dy, shape, at));
      });
}

Tensor diag_embed(const Tensor& x, std::int64_t offset) {
  if (x.ndim() == 0) throw_operand("diag_embed", "at least one axis", "[]");
  if (offset < -kOffsetMax || offset > kOffsetMax) {
    throw_operand("diag_embed", "an offset within 2^31", std::to_string(offset));
  }
  Shape shape = x.shape();
  const std::int64_t side = shape.back() + (offset < 0 ? -offset : offset);
  shape[shape.size() - 1] = side;
  shape.push_back(side);
  return put_diagonal(x, shape, {shape.size() - 2, shape.size() - 1, offset});
}

Tensor diag(const Tensor& x, std::int64_t offset) {
  if (x.ndim() == 1) return diag_embed(x, offset);
  if (x.ndim() == 2) return diagonal(x, offset);
  throw_operand("diag", "a vector or a matrix", to_string(x.shape()));
}

static std::vector<OpSample> diagonal_samples() {
  const auto of = [](const char* name, const Shape& shape, std::int64_t offset,
                     std::int64_t length) {
    return pick_sample(
        name, shape, [offset](const Tensor& x) { return diagonal(x, offset); }, {length},
        [offset](Dims i) {
          return Dims{i[0] + std::max<std::int64_t>(0, -offset),
                      i[0] + std::max<std::int64_t>(0, offset)};
        });
  };
  return {
      of("square", {4, 4}, 0, 4),
      of("above", {3, 5}, 2, 3),
      of("below", {3, 5}, -1, 2),
      of("outside", {2, 3}, 7, 0),
      of("one element", {1, 1}, 0, 1),
      of("no rows", {0, 3}, 0, 0),
      pick_sample(
          "other axes", {4, 2, 3}, [](const Tensor& x) { return diagonal(x, 1, -1, 0); }, {2, 3},
          [](Dims i) {
            return Dims{i[1] + 1, i[0], i[1]};
          }),
      pick_sample(
          "embedded below", {2, 3}, [](const Tensor& x) { return diag_embed(x, -1); }, {2, 4, 4},
          [](Dims i) -> std::optional<Dims> {
            if (i[1] != i[2] + 1) return {};
            return Dims{i[0], i[2]};
          }),
      pick_sample(
          "diag of a vector", {3}, [](const Tensor& x) { return diag(x); }, {3, 3},
          [](Dims i) -> std::optional<Dims> {
            if (i[0] != i[1]) return {};
            return Dims{i[0]};
          })};
}
extern const OpDef diagonal_op = {"diagonal", diagonal_samples};

}  // namespace weft
