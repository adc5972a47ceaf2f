// transpose: two axes change places; a view.
#include "weft/autograd/op_trace.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  if (op_tracing()) {
    trace_attributes("transpose",
                     {{"axes", {static_cast<double>(axis_a), static_cast<double>(axis_b)}}});
  }
  return record(
      "transpose", x.array().strided().transpose(axis_a, axis_b), {&x},
      [axis_a, axis_b](const Array& dy, const InputGradients& dx) {
        dx.add(0, dy.strided().transpose(axis_a, axis_b));
      },
      [axis_a, axis_b](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, transpose(dy, axis_a, axis_b));
      });
}

static std::vector<OpSample> transpose_samples() {
  const auto matrix = [](const char* name, std::int64_t rows, std::int64_t columns) {
    return OpSample{name,
                    {sample_values({rows, columns}, 73)},
                    [](std::span<const Tensor> in) { return transpose(in[0], 0, -1); },
                    [](std::span<const Array> in) {
                      const std::int64_t m = in[0].dim(0);
                      const std::int64_t n = in[0].dim(1);
                      Array y = Array::empty({n, m}, DType::kF64);
                      for (std::int64_t i = 0; i < m * n; ++i) {
                        y.data<double>()[i % n * m + i / n] = in[0].data<double>()[i];
                      }
                      return y;
                    }};
  };
  return {matrix("3x5", 3, 5), matrix("one element", 1, 1), matrix("no rows", 0, 4)};
}
extern const OpDef transpose_op = {"transpose", transpose_samples};

}  // namespace weft
