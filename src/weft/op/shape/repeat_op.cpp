// repeat, tile, repeat_interleave: copies along axes; the gradient is the sum over them.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {
namespace {

std::int64_t product_of_sizes(const Shape& shape, int begin, int end) {
  std::int64_t result = 1;
  for (int i = begin; i < end; ++i) result *= shape[i];
  return result;
}

// Everything from axis `from` on `count` times; the result has `shape`.
Tensor copies(const Tensor& x, int from, std::int64_t count, const Shape& shape) {
  if (count < 0) throw_operand("repeat", "counts of 0 or more", std::to_string(count));
  const std::int64_t outer = product_of_sizes(x.shape(), 0, from);
  const std::int64_t inner = product_of_sizes(x.shape(), from, x.ndim());
  return reshape(expand(reshape(x, {outer, 1, inner}), {outer, count, inner}), shape);
}

}  // namespace

Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts) {
  const int ndim = static_cast<int>(counts.size());
  if (ndim < x.ndim()) {
    throw_operand("repeat", "a count for each axis of " + to_string(x.shape()),
                  std::to_string(ndim));
  }
  Shape shape = x.shape();
  while (shape.size() < ndim) shape.insert(0, 1);
  Tensor y = reshape(x, shape);
  for (int axis = 0; axis < ndim; ++axis) {
    const std::int64_t count = counts[static_cast<std::size_t>(axis)];
    if (count == 1) continue;
    shape[axis] *= count;
    y = copies(y, axis, count, shape);
  }
  return y;
}

Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> all = counts;
  while (static_cast<int>(all.size()) < x.ndim()) all.insert(all.begin(), 1);
  return repeat(x, all);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis) {
  const int at = normalize_axis("repeat_interleave", axis, x.ndim());
  Shape shape = x.shape();
  shape[at] *= count;
  return copies(x, at + 1, count, shape);
}

static std::vector<OpSample> repeat_samples() {
  const auto repeated = [](const char* name, const Shape& from,
                           const std::vector<std::int64_t>& counts, const Shape& to) {
    return pick_sample(
        name, from, [counts](const Tensor& x) { return tile(x, counts); }, to,
        [from](Dims i) {
          Dims at = from;
          for (int axis = 0; axis < from.size(); ++axis) {
            at[axis] = i[i.size() - from.size() + axis] % from[axis];
          }
          return at;
        });
  };
  return {
      repeated("both axes", {2, 3}, {3, 2}, {6, 6}),
      repeated("new axis", {3}, {2, 2}, {2, 6}),
      repeated("last axis only", {2, 3}, {2}, {2, 6}),
      repeated("one element", {1}, {1}, {1}),
      repeated("scalar", {}, {3}, {3}),
      repeated("no copies", {2, 3}, {0, 1}, {0, 3}),
      repeated("no rows", {0, 3}, {2, 2}, {0, 6}),
      pick_sample(
          "interleaved", {3, 2}, [](const Tensor& x) { return repeat_interleave(x, 3, 0); }, {9, 2},
          [](Dims i) {
            return Dims{i[0] / 3, i[1]};
          }),
      pick_sample(
          "interleaved columns", {2, 3},
          [](const Tensor& x) { return repeat_interleave(x, 2, -1); }, {2, 6},
          [](Dims i) {
            return Dims{i[0], i[1] / 2};
          })};
}
extern const OpDef repeat_op = {"repeat", repeat_samples};

}  // namespace weft
