// permute: the axes in another order; a view.
#include "weft/autograd/op_trace.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  Array y = x.array().strided().permute(axes);
  std::vector<int> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    inverse[static_cast<std::size_t>(normalize_axis("permute", axes[i], x.ndim()))] =
        static_cast<int>(i);
  }
  if (op_tracing()) {
    trace_attributes("permute", {{"axes", {axes.begin(), axes.end()}}});
  }
  return record(
      "permute", std::move(y), {&x},
      [inverse](const Array& dy, const InputGradients& dx) {
        dx.add(0, dy.strided().permute(inverse));
      },
      [inverse](const Tensor& dy, const TensorGradients& dx) { dx.add(0, permute(dy, inverse)); });
}

// [A, B, C] to [C, A, B].
static Array permute_reference(std::span<const Array> in) {
  const Array& x = in[0];
  const std::int64_t rows = x.dim(0) * x.dim(1);
  const std::int64_t columns = x.dim(2);
  Array y = Array::empty({columns, x.dim(0), x.dim(1)}, DType::kF64);
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    y.data<double>()[i % columns * rows + i / columns] = x.data<double>()[i];
  }
  return y;
}

static std::vector<OpSample> permute_samples() {
  const auto sample = [](const char* name, const Shape& shape, const std::vector<int>& axes) {
    return OpSample{name,
                    {sample_values(shape, 74)},
                    [axes](std::span<const Tensor> in) { return permute(in[0], axes); },
                    permute_reference};
  };
  return {sample("2x3x5", {2, 3, 5}, {2, 0, 1}), sample("negative axes", {3, 1, 4}, {-1, -3, -2}),
          sample("one element", {1, 1, 1}, {2, 0, 1}), sample("no rows", {0, 2, 3}, {2, 0, 1})};
}
extern const OpDef permute_op = {"permute", permute_samples};

}  // namespace weft
