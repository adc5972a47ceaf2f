// expand: broadcasts to a shape; a view. The gradient is summed over the copies.
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {

Tensor expand(const Tensor& x, const Shape& shape) {
  return record(
      "expand", x.array().strided().expand(shape), {&x},
      [from = x.shape()](const Array& dy, const InputGradients& dx) {
        add_summed(dx, 0, dy, from);
      },
      [from = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        add_summed(dx, 0, dy, from);
      });
}

static std::vector<OpSample> expand_samples() {
  const auto sample = [](const char* name, const Shape& from, const Shape& to) {
    return OpSample{name,
                    {sample_values(from, 76)},
                    [to](std::span<const Tensor> in) { return expand(in[0], to); },
                    [to](std::span<const Array> in) {
                      return map_values(in[0], Array::zeros(to, DType::kF64),
                                        [](double x, double) { return x; });
                    }};
  };
  return {sample("rows", {3}, {4, 3}),          sample("columns", {4, 1}, {4, 5}),
          sample("scalar", {}, {2, 3}),         sample("one element", {1}, {1}),
          sample("to no rows", {1, 3}, {0, 3}), sample("from no rows", {0, 1}, {0, 3})};
}
extern const OpDef expand_op = {"expand", expand_samples};

}  // namespace weft
