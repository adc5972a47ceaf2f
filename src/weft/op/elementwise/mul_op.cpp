// mul: y = a b.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor mul(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("mul", a, b);
    return mul(like.a, like.b);
  }
  check_broadcast("mul", a, b);
  // On bool, as in NumPy: and.
  const BinaryOp op = a.dtype() == DType::kBool ? BinaryOp::kMinimum : BinaryOp::kMul;
  Array y = binary(op, a.array(), b.array());
  if (!recording({&a, &b})) return unrecorded("mul", std::move(y), {&a, &b});
  return record(
      "mul", std::move(y), {&a, &b},
      [x = a.array(), z = b.array()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, binary(BinaryOp::kMul, dy, z), x.shape());
        if (dx.needs(1)) add_summed(dx, 1, binary(BinaryOp::kMul, dy, x), z.shape());
      },
      [x = a.array(), z = b.array()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, mul(dy, dx.input(1, z)), x.shape());
        if (dx.needs(1)) add_summed(dx, 1, mul(dy, dx.input(0, x)), z.shape());
      });
}

Tensor mul(const Tensor& a, double b) {
  if (!a.defined() || !is_floating(a.dtype())) {
    const Tensor x = operand_beside("mul", a, b);
    return is_floating(x.dtype()) ? mul(x, b) : Tensor(binary(BinaryOp::kMul, x.array(), b));
  }
  if (op_tracing()) {
    trace_attributes("mul", {{"scalar", {b}}});
  }
  return record(
      "mul", binary(BinaryOp::kMul, a.array(), b), {&a},
      [b](const Array& dy, const InputGradients& dx) { dx.add(0, binary(BinaryOp::kMul, dy, b)); },
      [b](const Tensor& dy, const TensorGradients& dx) { dx.add(0, mul(dy, b)); });
}

static std::vector<OpSample> mul_samples() {
  return binary_samples([](const Tensor& a, const Tensor& b) { return mul(a, b); },
                        [](double a, double b) { return a * b; });
}
extern const OpDef mul_op = {"mul", mul_samples};

}  // namespace weft
