// pow: y = a^p for a fixed exponent p, dy/da = p a^(p - 1).
#include <cmath>

#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {
namespace {

// Roots are those of sqrt(), NaN of -infinity and -0 of -0, as in PyTorch and NumPy; C's pow() has
// infinity and 0 there.
Array power(const Array& a, double exponent) {
  if (exponent == 2.0) return binary(BinaryOp::kMul, a, a);
  if (exponent == 0.5) return unary(UnaryOp::kSqrt, a);
  if (exponent == -0.5) return unary(UnaryOp::kRsqrt, a);
  return binary(BinaryOp::kPow, a, exponent);
}

}  // namespace

Tensor pow(const Tensor& a, double exponent) {
  if (!a.defined() || !is_floating(a.dtype())) {
    const Tensor x = operand_beside("pow", a, exponent);
    if (is_floating(x.dtype())) return pow(x, exponent);
    if (exponent < 0) {
      throw_operand("pow", "an exponent of at least 0 for integers", std::to_string(exponent));
    }
    // In i64, which holds every exponent that matters; the low bits are those of the narrower type.
    return Tensor(binary(BinaryOp::kPow, x.array().to(DType::kI64), exponent).to(x.dtype()));
  }
  if (op_tracing()) {
    trace_attributes("pow", {{"scalar", {exponent}}});
  }
  return record(
      "pow", power(a.array(), exponent), {&a},
      [x = a.array(), exponent](const Array& dy, const InputGradients& dx) {
        // a^0 is 1 everywhere, also where a^-1 is infinite.
        const Array slope = exponent == 0.0
                                ? Array::zeros(x.shape(), x.dtype(), x.device())
                                : binary(BinaryOp::kMul, power(x, exponent - 1.0), exponent);
        dx.add(0, binary(BinaryOp::kMul, dy, slope));
      },
      [x = a.array(), exponent](const Tensor& dy, const TensorGradients& dx) {
        if (exponent == 0.0) return dx.add(0, mul(dy, 0.0));
        dx.add(0, mul(dy, mul(pow(dx.input(0, x), exponent - 1.0), exponent)));
      });
}

static std::vector<OpSample> pow_samples() {
  std::vector<OpSample> all;
  for (const double exponent : {2.0, 3.0, -1.5, 0.5, 0.0}) {
    for (OpSample& sample :
         unary_samples([exponent](const Tensor& a) { return pow(a, exponent); },
                       [exponent](double a) { return std::pow(a, exponent); }, {0.3, 2.0})) {
      sample.name += ", exponent " + std::to_string(exponent);
      all.push_back(std::move(sample));
    }
  }
  return all;
}
extern const OpDef pow_op = {"pow", pow_samples};

}  // namespace weft
