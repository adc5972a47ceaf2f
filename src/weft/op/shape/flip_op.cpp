// flip: backwards along axes; a view, and so is its gradient.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {

static Array flipped(const Array& x, AxisMask axes) {
  Array y = x.strided();
  for (int axis = 0; axis < y.ndim(); ++axis) {
    if ((axes >> axis & 1) != 0) y = y.slice(axis, {}, {}, -1);
  }
  return y;
}

Tensor flip(const Tensor& x, const std::vector<int>& axes) {
  if (!x.defined()) throw_operand("flip", "a tensor", "an undefined one");
  const AxisMask mask = axes.empty() ? 0 : axis_mask("flip", axes, x.ndim());
  return record(
      "flip", flipped(x.array(), mask), {&x},
      [mask](const Array& dy, const InputGradients& dx) { dx.add(0, flipped(dy, mask)); },
      [axes](const Tensor& dy, const TensorGradients& dx) { dx.add(0, flip(dy, axes)); });
}

static std::vector<OpSample> flip_samples() {
  const auto sample = [](const char* name, const Shape& shape, const std::vector<int>& axes) {
    return pick_sample(
        name, shape, [axes](const Tensor& x) { return flip(x, axes); }, shape,
        [shape, axes](Dims i) {
          for (const int axis : axes) {
            const int at = axis < 0 ? axis + shape.size() : axis;
            i[at] = shape[at] - 1 - i[at];
          }
          return i;
        });
  };
  return {sample("columns", {3, 5}, {1}),   sample("both axes", {3, 4}, {0, -1}),
          sample("middle", {2, 3, 4}, {1}), sample("no axes", {2, 3}, {}),
          sample("one element", {1}, {0}),  sample("no rows", {0, 3}, {0, 1})};
}
extern const OpDef flip_op = {"flip", flip_samples};

}  // namespace weft
