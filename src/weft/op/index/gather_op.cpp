// gather: values at positions along an axis; the gradient is added up at the positions.
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"
#include "weft/op/shape.h"

namespace weft {

static void check_index_shape(const Tensor& x, int axis, const Array& index) {
  bool fits = index.ndim() == x.ndim();
  for (int i = 0; fits && i < x.ndim(); ++i) {
    fits = i == axis || index.shape()[i] <= x.shape()[i];
  }
  if (fits) return;
  throw_operand(
      "gather",
      "an index of at most " + to_string(x.shape()) + " but along axis " + std::to_string(axis),
      to_string(index.shape()));
}

Tensor gather(const Tensor& x, int axis, const IndexOperand& index) {
  if (x.ndim() == 0 && index.ndim() == 0) {
    return reshape(gather(reshape(x, {1}), axis, index.array().reshape({1})), {});
  }
  const int at = normalize_axis("gather", axis, x.ndim());
  const Array positions = index.indexes("gather", "indexes");
  check_index_shape(x, at, positions);
  const Tensor kept(positions);  // an input, so that a write to it is noticed
  return record(
      "gather", gather("gather", x.array(), at, positions), {&x, &kept},
      [=, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, scatter_sum("gather", shape, at, positions, dy));
      },
      [=, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, scatter_add(Tensor(Array::zeros(shape, dy.dtype(), dy.device())), at, positions,
                              dy));
      });
}

Tensor take_along_axis(const Tensor& x, const IndexOperand& index, int axis) {
  const int at = normalize_axis("take_along_axis", axis, x.ndim());
  Shape shape = x.shape();
  if (index.ndim() != x.ndim()) {
    throw_operand("take_along_axis", std::to_string(x.ndim()) + " axes", to_string(index.shape()));
  }
  shape[at] = index.shape()[at];
  Shape wide = x.shape();
  for (int i = 0; i < x.ndim(); ++i) {
    if (i != at && x.dim(i) == 1) shape[i] = wide[i] = index.shape()[i];
  }
  return gather(expand(x, wide), at, index.array().expand(shape));
}

static Array gather_reference(std::span<const Array> in, int axis) {
  const Array& index = in[1];
  Array y = Array::empty(index.shape(), DType::kF64);
  each_index(index.shape(), [&](const Dims& i, std::int64_t place) {
    Dims from = i;
    from[axis] = index.data<std::int64_t>()[place];
    y.data<double>()[place] = in[0].data<double>()[row_major(from, in[0].shape())];
  });
  return y;
}

static std::vector<OpSample> gather_samples() {
  const auto sample = [](const char* name, const Shape& x, const Shape& index, int axis) {
    return OpSample{name,
                    {sample_values(x, 501), sample_indexes(index, x[axis], 502)},
                    [axis](std::span<const Tensor> in) { return gather(in[0], axis, in[1]); },
                    [axis](std::span<const Array> in) { return gather_reference(in, axis); }};
  };
  return {sample("columns", {3, 5}, {3, 4}, 1),
          sample("rows", {4, 3}, {6, 3}, 0),
          sample("middle axis, fewer lanes", {3, 5, 4}, {2, 7, 3}, 1),
          sample("vector", {6}, {9}, 0),
          sample("one element", {1}, {1}, 0),
          sample("nothing", {3, 2}, {0, 2}, 0),
          {"take_along_axis broadcasts",
           {sample_values({3, 4}, 503), sample_indexes({1, 2}, 4, 504)},
           [](std::span<const Tensor> in) { return take_along_axis(in[0], in[1], 1); },
           [](std::span<const Array> in) {
             const Array wide[] = {in[0], in[1].expand({3, 2}).clone()};
             return gather_reference(wide, 1);
           }}};
}
extern const OpDef gather_op = {"gather", gather_samples};

}  // namespace weft
