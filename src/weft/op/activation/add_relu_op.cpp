// add_relu: max(a + b, 0) in one pass, the end of a residual block.
#include <algorithm>

#include "weft/kernel/conv/residual.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/op/activation.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor add_relu(const Tensor& a, const Tensor& b) {
  check_floating("add_relu", a);
  check_floating("add_relu", b);
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) {
    throw_operand("add_relu", "operands of one shape and type",
                  to_string(a.shape()) + " and " + to_string(b.shape()));
  }
  Array y = add_in_order(a.array(), b.array(), true);
  const auto mask = [y](const Array& dy) { return relu_backward(dy, y); };
  return record(
      "add_relu", y, {&a, &b},
      [y](const Array& dy, const InputGradients& dx) {
        const Array g = relu_backward(dy, y);
        if (dx.needs(0)) dx.add(0, g);
        if (dx.needs(1)) dx.add(1, g);
      },
      [mask](const Tensor& dy, const TensorGradients& dx) {
        const Tensor g = linear_map("add_relu_gradient", dy, mask, mask);
        if (dx.needs(0)) dx.add(0, g);
        if (dx.needs(1)) dx.add(1, g);
      });
}

static std::vector<OpSample> add_relu_samples() {
  const auto sample = [](const char* name, const Shape& shape) {
    return OpSample{name,
                    {sample_values(shape, 51), sample_values(shape, 52)},
                    [](std::span<const Tensor> in) { return add_relu(in[0], in[1]); },
                    [](std::span<const Array> in) {
                      return map_values(in[0], in[1],
                                        [](double a, double b) { return std::max(a + b, 0.0); });
                    }};
  };
  return {sample("images", {2, 3, 4, 5}), sample("odd", {7}), sample("one element", {1, 1}),
          sample("no elements", {0, 3})};
}
extern const OpDef add_relu_op = {"add_relu", add_relu_samples};

}  // namespace weft
