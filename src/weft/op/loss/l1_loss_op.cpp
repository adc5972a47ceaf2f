// l1_loss: |x - t|, reduced; the gradient where they are equal is 0.
#include <cmath>

#include "weft/op/loss/pointwise_losses.h"

namespace weft {

// A derivative that does not change with the operands.
static Tensor slope(LossPart part, const Tensor& x, const Tensor& target) {
  return Tensor(
      pointwise_loss({PointwiseLoss::kAbsolute}, part, x.array(), target.array(), {}, {}));
}

Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const PointwiseLossOp op{"l1_loss",
                           {PointwiseLoss::kAbsolute},
                           {[](const Tensor& a, const Tensor& t, const Array&, double) {
                              return slope(LossPart::kByInput, a, t);
                            },
                            [](const Tensor& a, const Tensor& t, const Array&, double) {
                              return slope(LossPart::kByTarget, a, t);
                            }}};
  return reduced(pointwise_losses(op, x, target), reduction);
}

static std::vector<OpSample> l1_loss_samples() {
  return pointwise_loss_samples(
      l1_loss, [](double x, double t) { return std::abs(x - t); }, -1, 1);
}
extern const OpDef l1_loss_op = {"l1_loss", l1_loss_samples};

}  // namespace weft
