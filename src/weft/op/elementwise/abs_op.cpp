// abs: y = |a|, dy/da = sign(a), 0 at 0.
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor abs(const Tensor& a) {
  if (!a.defined()) throw_operand("abs", "a tensor", "an undefined one");
  Array y = unary(UnaryOp::kAbs, a.array());
  return record(
      "abs", y, {&a},
      [x = a.array()](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kAbsGradient, dy, x));
      },
      [x = a.array()](const Tensor& dy, const TensorGradients& dx) {
        const auto slope = [x](const Array& g) { return binary(BinaryOp::kAbsGradient, g, x); };
        dx.add(0, linear_map("abs_gradient", dy, slope, slope));
      });
}

static std::vector<OpSample> abs_samples() {
  return unary_samples([](const Tensor& a) { return abs(a); },
                       [](double a) { return a < 0 ? -a : a; });
}
extern const OpDef abs_op = {"abs", abs_samples};

}  // namespace weft
