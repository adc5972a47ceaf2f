// exp: y = e^a, dy/da = y.
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor exp(const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return exp(floating_operand("exp", a));
  Array y = unary(UnaryOp::kExp, a.array());
  return record(
      "exp", y, {&a},
      [y](const Array& dy, const InputGradients& dx) { dx.add(0, binary(BinaryOp::kMul, dy, y)); },
      [y](const Tensor& dy, const TensorGradients& dx) { dx.add(0, mul(dy, dx.output(y))); });
}

static std::vector<OpSample> exp_samples() {
  return unary_samples([](const Tensor& a) { return exp(a); }, [](double a) { return std::exp(a); },
                       {-3.0, 3.0});
}
extern const OpDef exp_op = {"exp", exp_samples};

}  // namespace weft
