// huber_loss, smooth_l1_loss: a parabola at 0 that goes on as lines.
#include <cmath>

#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/loss/pointwise_losses.h"

namespace weft {

// x - t held in [-delta, delta].
static Tensor held(const Tensor& difference, double delta) {
  return relu(difference + delta) - relu(difference - delta) - delta;
}

Tensor huber_loss(const Tensor& x, const Tensor& target, double delta, Reduction reduction) {
  if (!(delta > 0)) throw_operand("huber_loss", "delta above 0", std::to_string(delta));
  const PointwiseLossOp op{
      "huber_loss",
      {PointwiseLoss::kHuber, delta},
      {[](const Tensor& a, const Tensor& t, const Array&, double c) { return held(a - t, c); },
       [](const Tensor& a, const Tensor& t, const Array&, double c) { return held(t - a, c); }}};
  return reduced(pointwise_losses(op, x, target), reduction);
}

Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, double beta, Reduction reduction) {
  if (beta == 0) return l1_loss(x, target, reduction);
  return huber_loss(x, target, beta, reduction) / beta;
}

static std::vector<OpSample> huber_loss_samples() {
  std::vector<OpSample> all =
      pointwise_loss_samples([](const Tensor& x, const Tensor& t,
                                Reduction reduction) { return huber_loss(x, t, 0.7, reduction); },
                             [](double x, double t) {
                               const double d = std::abs(x - t);
                               return d < 0.7 ? d * d / 2 : 0.7 * (d - 0.35);
                             },
                             -2, 2);
  for (OpSample& sample : pointwise_loss_samples(
           [](const Tensor&x, const Tensor&t, Reduction reduction) {
             return smooth_l1_loss(x, t, 0.5, reduction);
           },
           [](double x, double t) {
             const double d = std::abs(x - t);
             return d < 0.5 ? d * d : d - 0.25;
           },
           -2, 2)) {
    sample.name = "smooth l1: " + sample.name;
    all.push_back(std::move(sample));
  }
  return all;
}
extern const OpDef huber_loss_op = {"huber_loss", huber_loss_samples};

}  // namespace weft
