// sigmoid: y = 1 / (1 + e^-a), dy/da = y (1 - y).
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor sigmoid(const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return sigmoid(floating_operand("sigmoid", a));
  Array y = unary(UnaryOp::kSigmoid, a.array());
  return record(
      "sigmoid", y, {&a},
      [y](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kSigmoidGradient, dy, y));
      },
      [y](const Tensor& dy, const TensorGradients& dx) {
        const Tensor s = dx.output(y);
        dx.add(0, mul(dy, s * (1.0 - s)));
      });
}

static std::vector<OpSample> sigmoid_samples() {
  return unary_samples([](const Tensor& a) { return sigmoid(a); },
                       [](double a) { return 1.0 / (1.0 + std::exp(-a)); }, {-5.0, 5.0});
}
extern const OpDef sigmoid_op = {"sigmoid", sigmoid_samples};

}  // namespace weft
