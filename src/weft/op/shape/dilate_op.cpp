// dilate: zeros behind each value along axes; its gradient is undilate, and the reverse.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {
namespace {

Array every(Array x, AxisMask axes, std::int64_t step) {
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if ((axes >> axis & 1) != 0) x = x.slice(axis, {}, {}, step);
  }
  return x;
}

Array dilated(const Array& x, AxisMask axes, std::int64_t step) {
  Shape shape = x.shape();
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if ((axes >> axis & 1) != 0) shape[axis] *= step;
  }
  Array y = Array::zeros(shape, x.dtype(), x.device());
  every(y, axes, step).copy_from(x.strided());
  return y;
}

AxisMask checked_axes(const char* op, const Tensor& x, const std::vector<int>& axes,
                      std::int64_t dilation) {
  if (dilation < 0) throw_operand(op, "a dilation of 0 or more", std::to_string(dilation));
  return axes.empty() ? 0 : axis_mask(op, axes, x.ndim());
}

}  // namespace

Tensor dilate(const Tensor& x, const std::vector<int>& axes, std::int64_t dilation) {
  const AxisMask mask = checked_axes("dilate", x, axes, dilation);
  const std::int64_t step = dilation + 1;
  return record(
      "dilate", dilated(x.array(), mask, step), {&x},
      [=](const Array& dy, const InputGradients& dx) {
        dx.add(0, every(dy.strided(), mask, step));
      },
      [=](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, undilate(dy, axes, dilation));
      });
}

Tensor undilate(const Tensor& x, const std::vector<int>& axes, std::int64_t dilation) {
  const AxisMask mask = checked_axes("undilate", x, axes, dilation);
  const std::int64_t step = dilation + 1;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if ((mask >> axis & 1) == 0 || x.dim(axis) % step == 0) continue;
    throw_operand("undilate", "lengths that " + std::to_string(step) + " divides",
                  to_string(x.shape()));
  }
  return record(
      "undilate", every(x.array().strided(), mask, step), {&x},
      [=](const Array& dy, const InputGradients& dx) { dx.add(0, dilated(dy, mask, step)); },
      [=](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dilate(dy, axes, dilation)); });
}

static std::vector<OpSample> dilate_samples() {
  const auto spread = [](Dims i, std::int64_t step) -> std::optional<Dims> {
    for (std::int64_t& at : i) {
      if (at % step != 0) return {};
      at /= step;
    }
    return i;
  };
  return {pick_sample(
              "both axes", {2, 3},
              [](const Tensor& x) {
                return dilate(x, {0, 1}, 1);
              },
              {4, 6}, [=](Dims i) { return spread(i, 2); }),
          pick_sample(
              "by 2", {3}, [](const Tensor& x) { return dilate(x, {-1}, 2); }, {9},
              [=](Dims i) { return spread(i, 3); }),
          pick_sample(
              "not at all", {2, 2}, [](const Tensor& x) { return dilate(x, {1}, 0); }, {2, 2},
              [](Dims i) { return i; }),
          pick_sample(
              "one element", {1}, [](const Tensor& x) { return dilate(x, {0}, 0); }, {1},
              [](Dims i) { return i; }),
          pick_sample(
              "no elements", {0}, [](const Tensor& x) { return dilate(x, {0}, 3); }, {0},
              [](Dims i) { return i; }),
          pick_sample(
              "taken out again", {4, 9},
              [](const Tensor& x) { return undilate(undilate(x, {0}, 1), {1}, 2); }, {2, 3},
              [](Dims i) {
                return Dims{i[0] * 2, i[1] * 3};
              })};
}
extern const OpDef dilate_op = {"dilate", dilate_samples};

}  // namespace weft
