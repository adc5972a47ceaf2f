// roll: values move along axes and come in again at the other end.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {

static Array rolled(const Array& x, std::int64_t shift, int axis) {
  const std::int64_t extent = x.dim(axis);
  if (extent == 0) return x;
  const std::int64_t split = extent - ((shift % extent) + extent) % extent;
  if (split == extent) return x;
  Array y = Array::empty(x.shape(), x.dtype(), x.device());
  y.slice(axis, extent - split, {}).copy_from(x.slice(axis, 0, split));
  y.slice(axis, 0, extent - split).copy_from(x.slice(axis, split, {}));
  return y;
}

static Tensor roll_axis(const Tensor& x, std::int64_t shift, int axis) {
  return record(
      "roll", rolled(x.array().strided(), shift, axis), {&x},
      [=](const Array& dy, const InputGradients& dx) {
        dx.add(0, rolled(dy.strided(), -shift, axis));
      },
      [=](const Tensor& dy, const TensorGradients& dx) { dx.add(0, roll_axis(dy, -shift, axis)); });
}

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const std::vector<int>& axes) {
  if (shifts.size() != axes.size()) {
    throw_operand("roll", "a shift for each axis",
                  std::to_string(shifts.size()) + " and " + std::to_string(axes.size()));
  }
  Tensor y = x;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    y = roll_axis(y, shifts[i], normalize_axis("roll", axes[i], x.ndim()));
  }
  return y;
}

static std::vector<OpSample> roll_samples() {
  const auto sample = [](const char* name, const Shape& shape, std::int64_t shift, int axis) {
    return pick_sample(
        name, shape, [=](const Tensor& x) { return roll(x, {shift}, {axis}); }, shape,
        [=](Dims i) {
          i[axis] = (i[axis] + shape[axis] * 100 - shift) % shape[axis];
          return i;
        });
  };
  return {sample("right", {3, 5}, 2, 1),
          sample("left", {5, 3}, -1, 0),
          sample("many times round", {7}, 30, 0),
          sample("not at all", {4}, 8, 0),
          sample("one element", {1}, 1, 0),
          sample("no rows", {0, 3}, 1, 1),
          pick_sample(
              "both axes", {3, 4},
              [](const Tensor& x) {
                return roll(x, {1, -1}, {0, 1});
              },
              {3, 4},
              [](Dims i) {
                return Dims{(i[0] + 2) % 3, (i[1] + 1) % 4};
              })};
}
extern const OpDef roll_op = {"roll", roll_samples};

}  // namespace weft
