// flatten: joins the axes from one on.
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor flatten(const Tensor& x, int start_axis) {
  const int start = normalize_axis("flatten", start_axis, x.ndim());
  Shape shape;
  std::int64_t joined = 1;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if (axis < start) {
      shape.push_back(x.shape()[axis]);
    } else {
      joined *= x.shape()[axis];
    }
  }
  shape.push_back(joined);
  return reshape(x, shape);
}

static std::vector<OpSample> flatten_samples() {
  const auto sample = [](const char* name, const Shape& from, int start, const Shape& full) {
    return OpSample{
        name,
        {sample_values(from, 72)},
        [start](std::span<const Tensor> in) { return flatten(in[0], start); },
        [full](std::span<const Array> in) { return Array::from(in[0].to_vector<double>(), full); }};
  };
  return {sample("images", {2, 3, 4, 5}, 1, {2, 60}), sample("all", {3, 5}, 0, {15}),
          sample("last axis", {3, 5}, -1, {3, 5}), sample("one element", {1, 1, 1}, 1, {1, 1}),
          sample("no rows", {0, 3, 2}, 1, {0, 6})};
}
extern const OpDef flatten_op = {"flatten", flatten_samples};

}  // namespace weft
