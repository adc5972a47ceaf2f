// div: y = a / b, dy/da = 1 / b, dy/db = -y / b, in this order: where 1 / b is infinite, 0 / b has
// a slope of 0 still.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor div(const Tensor& a, const Tensor& b) {
  if (differ(a, b) || !is_floating(a.dtype())) {
    const Operands like = promote_floating("div", a, b);
    return div(like.a, like.b);
  }
  check_broadcast("div", a, b);
  Array y = binary(BinaryOp::kDiv, a.array(), b.array());
  return record(
      "div", y, {&a, &b},
      [y, z = b.array(), shape_a = a.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, binary(BinaryOp::kDiv, dy, z), shape_a);
        if (dx.needs(1)) {
          const Array slope = unary(UnaryOp::kNeg, binary(BinaryOp::kDiv, y, z));
          add_summed(dx, 1, binary(BinaryOp::kMul, dy, slope), z.shape());
        }
      },
      [y, z = b.array(), shape_a = a.shape()](const Tensor& dy, const TensorGradients& dx) {
        const Tensor divisor = dx.input(1, z);
        if (dx.needs(0)) add_summed(dx, 0, div(dy, divisor), shape_a);
        if (dx.needs(1)) {
          add_summed(dx, 1, mul(dy, neg(div(dx.output(y), divisor))), z.shape());
        }
      });
}

Tensor div(const Tensor& a, double b) {
  if (!a.defined() || !is_floating(a.dtype())) return div(floating_operand("div", a), b);
  if (op_tracing()) {
    trace_attributes("div", {{"scalar", {b}}});
  }
  return record(
      "div", binary(BinaryOp::kDiv, a.array(), b), {&a},
      [b](const Array& dy, const InputGradients& dx) { dx.add(0, binary(BinaryOp::kDiv, dy, b)); },
      [b](const Tensor& dy, const TensorGradients& dx) { dx.add(0, div(dy, b)); });
}

Tensor div(double b, const Tensor& a) {
  if (!a.defined() || !is_floating(a.dtype())) return div(b, floating_operand("div", a));
  Array y = binary(BinaryOp::kDiv, b, a.array());
  if (op_tracing()) {
    trace_attributes("div", {{"numerator", {b}}});
  }
  return record(
      "div", y, {&a},
      [y, x = a.array()](const Array& dy, const InputGradients& dx) {
        const Array slope = unary(UnaryOp::kNeg, binary(BinaryOp::kDiv, y, x));
        dx.add(0, binary(BinaryOp::kMul, dy, slope));
      },
      [y, x = a.array()](const Tensor& dy, const TensorGradients& dx) {
        dx.add(0, neg(mul(dy, div(dx.output(y), dx.input(0, x)))));
      });
}

static std::vector<OpSample> div_samples() {
  std::vector<OpSample> all =
      binary_samples([](const Tensor& a, const Tensor& b) { return div(a, b); },
                     [](double a, double b) { return a / b; }, {0.5, 2.0});
  for (OpSample& sample : unary_samples([](const Tensor& a) { return div(a, 3.0); },
                                        [](double a) { return a / 3.0; })) {
    sample.name += ", by a number";
    all.push_back(std::move(sample));
  }
  return all;
}
extern const OpDef div_op = {"div", div_samples};

}  // namespace weft
