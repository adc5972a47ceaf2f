// add: y = a + b.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/conv/residual.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor add(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("add", a, b);
    return add(like.a, like.b);
  }
  check_broadcast("add", a, b);
  // On bool, as in NumPy: or.
  const BinaryOp op = a.dtype() == DType::kBool ? BinaryOp::kMaximum : BinaryOp::kAdd;
  const bool blocked = !a.array().is_strided() || !b.array().is_strided();
  Array y = blocked && a.shape() == b.shape() ? add_in_order(a.array(), b.array())
                                              : binary(op, a.array(), b.array());
  if (!recording({&a, &b})) return unrecorded("add", std::move(y), {&a, &b});
  return record(
      "add", std::move(y), {&a, &b},
      [shape_a = a.shape(), shape_b = b.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, shape_a);
        if (dx.needs(1)) add_summed(dx, 1, dy, shape_b);
      },
      [shape_a = a.shape(), shape_b = b.shape()](const Tensor& dy, const TensorGradients& dx) {
        add_summed(dx, 0, dy, shape_a);
        add_summed(dx, 1, dy, shape_b);
      });
}

Tensor add(const Tensor& a, double b) {
  if (!a.defined() || !is_floating(a.dtype())) {
    const Tensor x = operand_beside("add", a, b);
    return is_floating(x.dtype()) ? add(x, b) : Tensor(binary(BinaryOp::kAdd, x.array(), b));
  }
  if (op_tracing()) {
    trace_attributes("add", {{"scalar", {b}}});
  }
  return record(
      "add", binary(BinaryOp::kAdd, a.array(), b), {&a},
      [](const Array& dy, const InputGradients& dx) { dx.add(0, dy); },
      [](const Tensor& dy, const TensorGradients& dx) { dx.add(0, dy); });
}

static std::vector<OpSample> add_samples() {
  return binary_samples([](const Tensor& a, const Tensor& b) { return add(a, b); },
                        [](double a, double b) { return a + b; });
}
extern const OpDef add_op = {"add", add_samples};

}  // namespace weft
