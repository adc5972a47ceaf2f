// squeeze, unsqueeze, movedim: axes go, come and move; views.
#include "weft/op/core/operands.h"
#include "weft/op/shape.h"
#include "weft/op/shape/pick_values.h"

namespace weft {

Tensor unsqueeze(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape.insert(normalize_axis("unsqueeze", axis, x.ndim() + 1), 1);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, int axis) {
  const int at = normalize_axis("squeeze", axis, x.ndim());
  if (x.dim(at) != 1) return x;
  Shape shape = x.shape();
  shape.erase(at);
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x) {
  Shape shape;
  for (const std::int64_t length : x.shape()) {
    if (length != 1) shape.push_back(length);
  }
  return reshape(x, shape);
}

Tensor movedim(const Tensor& x, const std::vector<int>& from, const std::vector<int>& to) {
  if (from.size() != to.size()) {
    throw_operand("movedim", "as many axes to move as places",
                  std::to_string(from.size()) + " and " + std::to_string(to.size()));
  }
  if (from.empty()) return x;
  const AxisMask moved = axis_mask("movedim", from, x.ndim());
  axis_mask("movedim", to, x.ndim());
  std::vector<int> axes(static_cast<std::size_t>(x.ndim()), -1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    axes[static_cast<std::size_t>(normalize_axis("movedim", to[i], x.ndim()))] =
        normalize_axis("movedim", from[i], x.ndim());
  }
  int next = 0;
  for (int& axis : axes) {
    if (axis >= 0) continue;
    while ((moved >> next & 1) != 0) ++next;
    axis = next++;
  }
  return permute(x, axes);
}

static std::vector<OpSample> squeeze_samples() {
  return {pick_sample(
              "unsqueeze", {3, 2}, [](const Tensor& x) { return unsqueeze(x, -2); }, {3, 1, 2},
              [](Dims i) {
                return Dims{i[0], i[2]};
              }),
          pick_sample(
              "squeeze one", {3, 1, 1}, [](const Tensor& x) { return squeeze(x, 1); }, {3, 1},
              [](Dims i) {
                return Dims{i[0], 0, 0};
              }),
          pick_sample(
              "squeeze all", {1, 3, 1}, [](const Tensor& x) { return squeeze(x); }, {3},
              [](Dims i) {
                return Dims{0, i[0], 0};
              }),
          pick_sample(
              "one element", {1, 1}, [](const Tensor& x) { return squeeze(x); }, {},
              [](Dims) {
                return Dims{0, 0};
              }),
          pick_sample(
              "movedim", {2, 3, 4},
              [](const Tensor& x) {
                return movedim(x, {0, -1}, {-1, 0});
              },
              {4, 3, 2},
              [](Dims i) {
                return Dims{i[2], i[1], i[0]};
              }),
          pick_sample(
              "movedim of one", {2, 3, 4}, [](const Tensor& x) { return movedim(x, {2}, {0}); },
              {4, 2, 3},
              [](Dims i) {
                return Dims{i[1], i[2], i[0]};
              }),
          pick_sample(
              "no elements", {0, 1}, [](const Tensor& x) { return squeeze(x, 1); }, {0},
              [](Dims i) {
                return Dims{i[0], 0};
              })};
}
extern const OpDef squeeze_op = {"squeeze", squeeze_samples};

}  // namespace weft
