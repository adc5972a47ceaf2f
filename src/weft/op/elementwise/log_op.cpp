// log: y = ln a, dy/da = 1 / a.
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor log(const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return log(floating_operand("log", a));
  Array y = unary(UnaryOp::kLog, a.array());
  return record(
      "log", y, {&a},
      [x = a.array()](const Array& dy, const InputGradients& dx) {
        dx.add(0, binary(BinaryOp::kDiv, dy, x));
      },
      [x = a.array()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, div(dy, dx.input(0, x)));
      });
}

static std::vector<OpSample> log_samples() {
  return unary_samples([](const Tensor& a) { return log(a); }, [](double a) { return std::log(a); },
                       {0.2, 4.0});
}
extern const OpDef log_op = {"log", log_samples};

}  // namespace weft
