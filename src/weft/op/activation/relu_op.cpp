// relu: y = max(x, 0); dx = dy where y > 0, else 0.
#include <algorithm>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/op/activation.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor relu(const Tensor& x) {
  if (x.defined() && is_integer(x.dtype())) {
    return Tensor(binary(BinaryOp::kMaximum, x.array(), 0.0));
  }
  check_floating("relu", x);
  Array y = relu_forward(x.array());
  return record(
      "relu", y, {&x},
      [y](const Array& dy, const InputGradients& dx) { dx.add(0, relu_backward(dy, y)); },
      [y](const Tensor& dy, const TensorGradients& dx) {
        const auto mask = [y](const Array& g) { return relu_backward(g, y); };
        dx.add(0, linear_map("relu_gradient", dy, mask, mask));
      });
}

static std::vector<OpSample> relu_samples() {
  return unary_samples([](const Tensor& x) { return relu(x); },
                       [](double x) { return std::max(x, 0.0); });
}
extern const OpDef relu_op = {"relu", relu_samples};

}  // namespace weft
