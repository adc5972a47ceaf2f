// index_select: slices of x by number; the gradient of a slice is the sum over its uses.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"

namespace weft {

Tensor index_select(const Tensor& x, int axis, const IndexOperand& index) {
  const int at = normalize_axis("index_select", axis, x.ndim());
  const Array positions = index.indexes("index_select", "indexes");
  if (positions.ndim() != 1) {
    throw_operand("index_select", "an index of one axis", to_string(positions.shape()));
  }
  if (op_tracing()) trace_attributes("index_select", {{"axis", {static_cast<double>(at)}}});
  const Tensor kept(positions);  // an input, so that a write to it is noticed
  return record(
      "index_select", select_rows("index_select", x.array(), at, positions), {&x, &kept},
      [=, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        dx.add(0, sum_rows("index_select", shape, at, positions, dy.strided()));
      },
      [=, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0,
               index_add(Tensor(Array::zeros(shape, dy.dtype(), dy.device())), at, positions, dy));
      });
}

static std::vector<OpSample> index_select_samples() {
  const auto sample = [](const char* name, const Shape& x, std::int64_t count, int axis) {
    return OpSample{name,
                    {sample_values(x, 521), sample_indexes({count}, x[axis], 522)},
                    [axis](std::span<const Tensor> in) { return index_select(in[0], axis, in[1]); },
                    [axis, count](std::span<const Array> in) {
                      Shape shape = in[0].shape();
                      shape[axis] = count;
                      Array y = Array::empty(shape, DType::kF64);
                      each_index(shape, [&](Dims i, std::int64_t place) {
                        i[axis] = in[1].data<std::int64_t>()[i[axis]];
                        y.data<double>()[place] = in[0].data<double>()[row_major(i, in[0].shape())];
                      });
                      return y;
                    }};
  };
  return {sample("rows", {4, 3}, 9, 0),           sample("columns", {3, 5}, 4, 1),
          sample("middle axis", {2, 5, 3}, 7, 1), sample("vector", {5}, 8, 0),
          sample("one element", {1}, 1, 0),       sample("nothing", {3, 2}, 0, 0)};
}
extern const OpDef index_select_op = {"index_select", index_select_samples};

}  // namespace weft
