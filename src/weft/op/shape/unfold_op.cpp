// unfold: windows along an axis as a view; its gradient is fold, the sum of overlapping windows,
// and the reverse.
#include "weft/kernel/index/arrange.h"
#include "weft/op/core/operands.h"
#include "weft/op/index_operand.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {

static Array windows_of(const Array& x, int axis, std::int64_t size, std::int64_t step) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[axis] = (shape[axis] - size) / step + 1;
  shape.push_back(size);
  strides.push_back(strides[axis]);
  strides[axis] *= step;
  return x.as_strided(shape, strides);
}

Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step) {
  const int at = normalize_axis("unfold", axis, x.ndim());
  const std::int64_t length = x.dim(at);
  if (size < 0 || size > length || step < 1) {
    throw_operand("unfold", "windows of at most " + std::to_string(length) + " and a step",
                  std::to_string(size) + " and " + std::to_string(step));
  }
  return record(
      "unfold", windows_of(x.array().strided(), at, size, step), {&x},
      [=](const Array& dy, const InputGradients& dx) {
        dx.add(0, fold_windows(dy, {at, length, step}));
      },
      [=](const Tensor& dy, const TensorGradients& dx) { dx.add(0, fold(dy, at, length, step)); });
}

Tensor fold(const Tensor& windows, int axis, std::int64_t length, std::int64_t step) {
  check_adds("fold", windows.dtype());
  const int at = windows.ndim() < 2 ? 0 : normalize_axis("fold", axis, windows.ndim() - 1);
  const std::int64_t size = windows.ndim() < 2 ? -1 : windows.dim(-1);
  if (size < 0 || step < 1 || size > length || windows.dim(at) != (length - size) / step + 1) {
    throw_operand("fold", "the windows of an axis of length " + std::to_string(length),
                  to_string(windows.shape()));
  }
  return record(
      "fold", fold_windows(windows.array(), {at, length, step}), {&windows},
      [=](const Array& dy, const InputGradients& dx) {
        dx.add(0, windows_of(dy.strided(), at, size, step));
      },
      [=](const Tensor& dy, const TensorGradients& dx) { dx.add(0, unfold(dy, at, size, step)); });
}

// windows [count, size] -> [length].
static Array fold_reference(const Array& windows, std::int64_t length, std::int64_t step) {
  Array y = Array::zeros({length}, DType::kF64);
  for (std::int64_t i = 0; i < windows.size(); ++i) {
    y.data<double>()[i / windows.dim(1) * step + i % windows.dim(1)] += windows.data<double>()[i];
  }
  return y;
}

static std::vector<OpSample> unfold_samples() {
  const auto windows = [](const char* name, std::int64_t length, std::int64_t size,
                          std::int64_t step) {
    return pick_sample(
        name, {2, length, 3}, [=](const Tensor& x) { return unfold(x, 1, size, step); },
        {2, (length - size) / step + 1, 3, size},
        [=](Dims i) {
          return Dims{i[0], i[1] * step + i[3], i[2]};
        });
  };
  return {windows("overlapping", 7, 3, 2),
          windows("side by side", 6, 2, 2),
          windows("with gaps", 9, 2, 4),
          windows("the whole axis", 4, 4, 1),
          windows("nothing in a window", 3, 0, 1),
          pick_sample(
              "no rows", {0, 4}, [](const Tensor& x) { return unfold(x, 1, 2, 1); }, {0, 3, 2},
              [](Dims) {
                return Dims{0, 0};
              }),
          pick_sample(
              "one element", {1}, [](const Tensor& x) { return unfold(x, 0, 1, 1); }, {1, 1},
              [](Dims) { return Dims{0}; }),
          {"fold",
           {sample_values({4, 3}, 91)},
           [](std::span<const Tensor> in) { return fold(in[0], 0, 10, 2); },
           [](std::span<const Array> in) { return fold_reference(in[0], 10, 2); }}};
}
extern const OpDef unfold_op = {"unfold", unfold_samples};

}  // namespace weft
