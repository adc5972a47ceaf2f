// mse_loss: (x - t)^2, reduced.
#include "weft/op/arithmetic.h"
#include "weft/op/loss/pointwise_losses.h"

namespace weft {

Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const PointwiseLossOp op{
      "mse_loss",
      {PointwiseLoss::kSquared},
      {[](const Tensor& a, const Tensor& t, const Array&, double) { return (a - t) * 2.0; },
       [](const Tensor& a, const Tensor& t, const Array&, double) { return (t - a) * 2.0; }}};
  return reduced(pointwise_losses(op, x, target), reduction);
}

static std::vector<OpSample> mse_loss_samples() {
  return pointwise_loss_samples(
      mse_loss, [](double x, double t) { return (x - t) * (x - t); }, -1, 1);
}
extern const OpDef mse_loss_op = {"mse_loss", mse_loss_samples};

}  // namespace weft
