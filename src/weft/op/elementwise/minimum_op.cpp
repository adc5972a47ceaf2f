// minimum: the smaller of a and b; equal values share the gradient.
#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {

Tensor minimum(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("minimum", a, b);
    return minimum(like.a, like.b);
  }
  check_broadcast("minimum", a, b);
  Array y = binary(BinaryOp::kMinimum, a.array(), b.array());
  return record(
      "minimum", std::move(y), {&a, &b},
      [x = a.array(), z = b.array()](const Array& dy, const InputGradients& dx) {
        const Array share = binary(BinaryOp::kMaximumShare, z, x);
        if (dx.needs(0)) add_summed(dx, 0, take_share(dy, share), x.shape());
        if (dx.needs(1)) add_summed(dx, 1, take_share(dy, other_share(share)), z.shape());
      },
      [x = a.array(), z = b.array()](const Tensor& dy, const TensorGradients& dx) {
        const Array share = binary(BinaryOp::kMaximumShare, z, x);
        if (dx.needs(0)) add_summed(dx, 0, take_share(dy, share), x.shape());
        if (dx.needs(1)) add_summed(dx, 1, take_share(dy, other_share(share)), z.shape());
      });
}

static std::vector<OpSample> minimum_samples() {
  return binary_samples([](const Tensor& a, const Tensor& b) { return minimum(a, b); },
                        [](double a, double b) { return a < b ? a : b; }, {-1.1, 0.93});
}
extern const OpDef minimum_op = {"minimum", minimum_samples};

}  // namespace weft
