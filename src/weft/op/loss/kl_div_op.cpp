// kl_div: target (ln target - x), reduced; x and, if asked, the target are logarithms.
#include <cmath>

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/loss/pointwise_losses.h"

namespace weft {

Tensor kl_div(const Tensor& x, const Tensor& target, const KlDivOptions& options) {
  const PointwiseLossOp plain{
      "kl_div",
      {PointwiseLoss::kKl},
      {[](const Tensor&, const Tensor& t, const Array&, double) { return -t; },
       [](const Tensor& a, const Tensor& t, const Array&, double) { return log(t) + 1.0 - a; }}};
  const PointwiseLossOp logs{
      "kl_div",
      {PointwiseLoss::kKlLog},
      {[](const Tensor&, const Tensor& t, const Array&, double) { return -exp(t); },
       [](const Tensor& a, const Tensor& t, const Array&, double) {
         return exp(t) * (t - a + 1.0);
       }}};
  const Tensor losses = pointwise_losses(options.log_target ? logs : plain, x, target);
  if (!options.batch_mean) return reduced(losses, options.reduction);
  if (losses.ndim() == 0) throw_operand("kl_div", "a batch for batch_mean", "[]");
  return reduced(losses, Reduction::kSum) / static_cast<double>(losses.dim(0));
}

static std::vector<OpSample> kl_div_samples() {
  std::vector<OpSample> all = pointwise_loss_samples(
      [](const Tensor& x, const Tensor& t, Reduction reduction) {
        return kl_div(x, t, {.reduction = reduction});
      },
      [](double x, double t) { return t * (std::log(t) - x); }, 0.1, 1);
  for (OpSample& sample : pointwise_loss_samples(
           [](const Tensor&x, const Tensor&t, Reduction reduction) {
             return kl_div(x, t, {.reduction = reduction, .log_target = true});
           },
           [](double x, double t) { return std::exp(t) * (t - x); }, -2, -0.1)) {
    sample.name = "log target: " + sample.name;
    all.push_back(std::move(sample));
  }
  return all;
}
extern const OpDef kl_div_op = {"kl_div", kl_div_samples};

}  // namespace weft
