// sqrt: the square root, dy/da = 1 / (2 y).
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor sqrt(const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return sqrt(floating_operand("sqrt", a));
  Array y = unary(UnaryOp::kSqrt, a.array());
  return record(
      "sqrt", y, {&a},
      [y](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kSqrtGradient, dy, y));
      },
      [y](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, div(mul(dy, 0.5), dx.output(y)));
      });
}

static std::vector<OpSample> sqrt_samples() {
  return unary_samples([](const Tensor& a) { return sqrt(a); },
                       [](double a) { return std::sqrt(a); }, {0.1, 4.0});
}
extern const OpDef sqrt_op = {"sqrt", sqrt_samples};

}  // namespace weft
