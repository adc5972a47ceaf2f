// index_add, index_copy: slices added to or written over those of x.
#include "weft/kernel/index/gather.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"

namespace weft {
namespace {

// The index as i64.
Array checked(const char* op, const Tensor& x, int axis, const IndexOperand& index,
              const Tensor& source) {
  Array positions = index.indexes(op, "indexes");
  Shape expected = x.shape();
  expected[axis] = positions.size();
  if (positions.ndim() != 1 || !(source.shape() == expected)) {
    throw_operand(op, "an index of one axis and a source of shape " + to_string(expected),
                  to_string(positions.shape()) + " and " + to_string(source.shape()));
  }
  if (x.dtype() != source.dtype()) {
    throw_operand(op, "a source of type " + std::string(to_string(x.dtype())),
                  std::string(to_string(source.dtype())));
  }
  return positions;
}

}  // namespace

Tensor index_add(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source) {
  const int at = normalize_axis("index_add", axis, x.ndim());
  check_adds("index_add", x.dtype());
  const Array positions = checked("index_add", x, at, index, source);
  const Tensor kept(positions);  // an input, so that a write to it is noticed
  return record(
      "index_add",
      put_rows("index_add", x.array().strided(), at, positions, source.array().strided(),
               ScatterMode::kAdd),
      {&x, &source, &kept},
      [=](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) dx.add(1, select_rows("index_add", dy.strided(), at, positions));
      },
      [=](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, dy);
        if (dx.needs(1)) dx.add(1, index_select(dy, at, positions));
      });
}

Tensor index_copy(const Tensor& x, int axis, const IndexOperand& index, const Tensor& source) {
  const int at = normalize_axis("index_copy", axis, x.ndim());
  const Array positions = checked("index_copy", x, at, index, source);
  const Tensor kept(positions);
  return record(
      "index_copy",
      put_rows("index_copy", x.array().strided(), at, positions, source.array().strided(),
               ScatterMode::kAssign),
      {&x, &source, &kept},
      [=, shape = source.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) {
          dx.add(0, put_rows("index_copy", dy.strided(), at, positions,
                             Array::zeros(shape, dy.dtype(), dy.device()), ScatterMode::kAssign));
        }
        if (dx.needs(1)) dx.add(1, select_rows("index_copy", dy.strided(), at, positions));
      },
      [=, shape = source.shape()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) {
          dx.add(0, index_copy(dy, at, positions,
                               Tensor(Array::zeros(shape, dy.dtype(), dy.device()))));
        }
        if (dx.needs(1)) dx.add(1, index_select(dy, at, positions));
      });
}

static std::vector<OpSample> index_add_samples() {
  const auto sample = [](const char* name, const Shape& x, std::int64_t count, int axis, bool add) {
    Shape source = x;
    source[axis] = count;
    return OpSample{name,
                    {sample_values(x, 531), sample_values(source, 532),
                     add ? sample_indexes({count}, x[axis], 533)
                         : sample_distinct_indexes(count, x[axis], 533)},
                    [=](std::span<const Tensor> in) {
                      return add ? index_add(in[0], axis, in[2], in[1])
                                 : index_copy(in[0], axis, in[2], in[1]);
                    },
                    [=](std::span<const Array> in) {
                      Array y = in[0].clone();
                      each_index(in[1].shape(), [&](Dims i, std::int64_t place) {
                        i[axis] = in[2].data<std::int64_t>()[i[axis]];
                        double& value = y.data<double>()[row_major(i, y.shape())];
                        value = in[1].data<double>()[place] + (add ? value : 0.0);
                      });
                      return y;
                    }};
  };
  return {sample("add rows", {4, 3}, 9, 0, true),
          sample("add columns", {3, 5}, 7, 1, true),
          sample("add along the middle", {2, 5, 3}, 6, 1, true),
          sample("copy rows", {6, 3}, 4, 0, false),
          sample("copy columns", {3, 5}, 2, 1, false),
          sample("one element", {1}, 1, 0, true),
          sample("nothing", {3, 2}, 0, 0, false)};
}
extern const OpDef index_add_op = {"index_add", index_add_samples};

}  // namespace weft
