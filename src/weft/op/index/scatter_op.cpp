// scatter, scatter_add: values written or added at positions along an axis. The source's gradient
// is gathered there; x's passes, but where something was written.
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"

namespace weft {
namespace {

void check_scatter(const char* op, const Tensor& x, int axis, const Array& index,
                   const Tensor& source) {
  bool fits = index.ndim() == x.ndim() && source.shape() == index.shape();
  for (int i = 0; fits && i < x.ndim(); ++i) {
    fits = i == axis || index.shape()[i] <= x.shape()[i];
  }
  if (!fits) {
    throw_operand(op,
                  "an index and a source of one shape, at most " + to_string(x.shape()) +
                      " but along axis " + std::to_string(axis),
                  to_string(index.shape()) + " and " + to_string(source.shape()));
  }
  if (x.dtype() != source.dtype()) {
    throw_operand(op, "a source of type " + std::string(to_string(x.dtype())),
                  std::string(to_string(source.dtype())));
  }
}

Array zeros_like_source(const Array& index, DType dtype) {
  return Array::zeros(index.shape(), dtype, index.device());
}

}  // namespace

Tensor scatter(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source) {
  const int at = normalize_axis("scatter", axis, x.ndim());
  const Array positions = index.indexes("scatter", "indexes");
  check_scatter("scatter", x, at, positions, source);
  Array y = scatter("scatter", x.array(), at, positions, source.array(), ScatterMode::kAssign);
  const Tensor kept(positions);  // an input, so that a write to it is noticed
  return record(
      "scatter", std::move(y), {&x, &source, &kept},
      [=](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) {
          dx.add(0, scatter("scatter", dy.strided(), at, positions,
                            zeros_like_source(positions, dy.dtype()), ScatterMode::kAssign));
        }
        if (dx.needs(1)) dx.add(1, gather("scatter", dy, at, positions));
      },
      [=](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) {
          dx.add(0, scatter(dy, at, positions, Tensor(zeros_like_source(positions, dy.dtype()))));
        }
        if (dx.needs(1)) dx.add(1, gather(dy, at, positions));
      });
}

Tensor scatter_add(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source) {
  const int at = normalize_axis("scatter_add", axis, x.ndim());
  const Array positions = index.indexes("scatter_add", "indexes");
  check_adds("scatter_add", x.dtype());
  check_scatter("scatter_add", x, at, positions, source);
  Array y = scatter("scatter_add", x.array(), at, positions, source.array(), ScatterMode::kAdd);
  const Tensor kept(positions);
  return record(
      "scatter_add", std::move(y), {&x, &source, &kept},
      [=](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) dx.add(1, gather("scatter_add", dy, at, positions));
      },
      [=](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) dx.add(1, gather(dy, at, positions));
      });
}

static Array scatter_reference(std::span<const Array> in, int axis, bool add) {
  Array y = in[0].clone();
  each_index(in[2].shape(), [&](const Dims& i, std::int64_t place) {
    Dims to = i;
    to[axis] = in[2].data<std::int64_t>()[place];
    double& value = y.data<double>()[row_major(to, y.shape())];
    value = in[1].data<double>()[place] + (add ? value : 0.0);
  });
  return y;
}

// `distinct`: the index walks the axis backwards, so that no position comes twice.
static OpSample scatter_sample(const char* name, const Shape& x, const Shape& index, int axis,
                               bool add) {
  Array positions = sample_indexes(index, x[axis], 512);
  if (!add) {
    each_index(index, [&](const Dims& i, std::int64_t place) {
      positions.data<std::int64_t>()[place] = x[axis] - 1 - i[axis];
    });
  }
  return {name,
          {sample_values(x, 511), sample_values(index, 513), positions},
          [=](std::span<const Tensor> in) {
            return add ? scatter_add(in[0], axis, in[2], in[1])
                       : scatter(in[0], axis, in[2], in[1]);
          },
          [=](std::span<const Array> in) { return scatter_reference(in, axis, add); }};
}

static std::vector<OpSample> scatter_samples() {
  return {scatter_sample("add to columns", {3, 5}, {3, 9}, 1, true),
          scatter_sample("add to rows", {4, 3}, {6, 2}, 0, true),
          scatter_sample("add along the middle", {3, 5, 4}, {2, 7, 3}, 1, true),
          scatter_sample("add to a vector", {3}, {20}, 0, true),
          scatter_sample("write columns", {3, 5}, {3, 4}, 1, false),
          scatter_sample("write along the middle", {3, 5, 4}, {2, 5, 3}, 1, false),
          scatter_sample("one element", {1}, {1}, 0, true),
          scatter_sample("nothing", {3, 2}, {0, 2}, 0, false)};
}
extern const OpDef scatter_op = {"scatter", scatter_samples};

}  // namespace weft
