// neg: y = -a.
#include <cmath>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor neg(const Tensor& a) {
  if (!a.defined()) throw_operand("neg", "a tensor", "an undefined one");
  Array y = unary(UnaryOp::kNeg, a.array());
  return record(
      "neg", y, {&a},
      [](const Array& dy, const InputGradients& dx) { dx.add(0, unary(UnaryOp::kNeg, dy)); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, neg(dy)); });
}

static std::vector<OpSample> neg_samples() {
  return unary_samples([](const Tensor& a) { return neg(a); }, [](double a) { return -a; });
}
extern const OpDef neg_op = {"neg", neg_samples};

}  // namespace weft
