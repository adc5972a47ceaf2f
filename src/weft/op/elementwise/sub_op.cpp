// sub: y = a - b.
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor sub(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("sub", a, b);
    return sub(like.a, like.b);
  }
  check_broadcast("sub", a, b);
  Array y = binary(BinaryOp::kSub, a.array(), b.array());
  return record(
      "sub", y, {&a, &b},
      [shape_a = a.shape(), shape_b = b.shape()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, shape_a);
        if (dx.needs(1)) dx.add(1, unary(UnaryOp::kNeg, sum_to_shape(dy, shape_b)));
      },
      [shape_a = a.shape(), shape_b = b.shape()](const Tensor& dy, const TensorGradients& dx) {
        add_summed(dx, 0, dy, shape_a);
        if (dx.needs(1)) add_summed(dx, 1, neg(dy), shape_b);
      });
}

static std::vector<OpSample> sub_samples() {
  return binary_samples([](const Tensor& a, const Tensor& b) { return sub(a, b); },
                        [](double a, double b) { return a - b; });
}
extern const OpDef sub_op = {"sub", sub_samples};

}  // namespace weft
