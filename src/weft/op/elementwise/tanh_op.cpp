// tanh: y = tanh a, dy/da = 1 - y^2.
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor tanh(const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return tanh(floating_operand("tanh", a));
  Array y = unary(UnaryOp::kTanh, a.array());
  return record(
      "tanh", y, {&a},
      [y](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kTanhGradient, dy, y));
      },
      [y](const Tensor& dy, const TensorGradients& dx) {
        const Tensor t = dx.output(y);
        dx.add(0, mul(dy, 1.0 - t * t));
      });
}

static std::vector<OpSample> tanh_samples() {
  return unary_samples([](const Tensor& a) { return tanh(a); },
                       [](double a) { return std::tanh(a); }, {-3.0, 3.0});
}
extern const OpDef tanh_op = {"tanh", tanh_samples};

}  // namespace weft
