// bce_loss, bce_with_logits: cross-entropy of two classes, of probabilities or of their logits.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/loss/pointwise_losses.h"

namespace weft {
namespace {

// What keeps gradients finite at probabilities of 0 and 1, as in the kernel (pointwise_loss.cpp).
constexpr double kBceVarianceMin = 1e-12;
constexpr double kBceLogMin = -100.0;

Tensor weighted(const char* name, const Tensor& losses, const BceOptions& options) {
  if (!options.weight.defined()) return reduced(losses, options.reduction);
  if (!(broadcast_shapes(options.weight.shape(), losses.shape()) == losses.shape())) {
    throw_operand(name, "weights that broadcast to " + to_string(losses.shape()),
                  to_string(options.weight.shape()));
  }
  return reduced(losses * Tensor(options.weight.to(losses.dtype())), options.reduction);
}

// 1 + (w - 1) t
Tensor positive_share(const Tensor& target, const Array& weight) {
  if (!weight.defined()) return target * 0.0 + 1.0;
  return (Tensor(weight) - 1.0) * target + 1.0;
}

Tensor logits_by_input(const Tensor& x, const Tensor& t, const Array& weight, double) {
  return 1.0 - t - positive_share(t, weight) * sigmoid(-x);
}

Tensor logits_by_target(const Tensor& x, const Tensor&, const Array& weight, double) {
  if (!weight.defined()) return -x;
  return -((Tensor(weight) - 1.0) * log(sigmoid(x))) - x;
}

}  // namespace

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, const BceOptions& options) {
  const PointwiseLossOp op{
      "bce_with_logits", {PointwiseLoss::kBceLogits}, {logits_by_input, logits_by_target}};
  return weighted(op.name, pointwise_losses(op, logits, target, options.positive_weight), options);
}

static void check_probabilities(const char* op, const Array& x) {
  if (!is_floating(x.dtype())) return;
  const auto is_outside = [](auto each) {
    using Value = std::conditional_t<std::is_same_v<decltype(each), double>, double, float>;
    const auto value = convert_value<Value>(each);
    return !(value >= 0 && value <= 1);
  };
  const Array values = x.strided().contiguous().to(Device::cpu());
  with_dtype(values.dtype(), [&](auto zero) {
    const auto all = values.flat<decltype(zero)>();
    const auto wrong = std::find_if(all.begin(), all.end(), is_outside);
    if (wrong == all.end()) return;
    throw_operand(op, "probabilities in [0, 1] (bce_with_logits takes any number)",
                  std::to_string(convert_value<double>(*wrong)));
  });
}

Tensor bce_loss(const Tensor& probabilities, const Tensor& target, const BceOptions& options) {
  const PointwiseLossOp op{"bce_loss",
                           {PointwiseLoss::kBce},
                           {[](const Tensor& x, const Tensor& t, const Array&, double) {
                              return (x - t) / clamp(x * (1.0 - x), kBceVarianceMin, INFINITY);
                            },
                            [](const Tensor& x, const Tensor&, const Array&, double) {
                              return clamp(log(1.0 - x), kBceLogMin, INFINITY) -
                                     clamp(log(x), kBceLogMin, INFINITY);
                            }}};
  if (options.positive_weight.defined()) {
    throw_operand(op.name, "no positive_weight", "one; it belongs to bce_with_logits");
  }
  const Tensor losses = pointwise_losses(op, probabilities, target);
  check_probabilities(op.name, probabilities.array());
  return weighted(op.name, losses, options);
}

static double logits_reference(double x, double t, double positive_weight) {
  const double p = 1 / (1 + std::exp(-x));
  return -positive_weight * t * std::log(p) - (1 - t) * std::log(1 - p);
}

static std::vector<OpSample> bce_loss_samples() {
  std::vector<OpSample> all = pointwise_loss_samples(
      [](const Tensor& x, const Tensor& t, Reduction reduction) {
        return bce_loss(x, t, {.reduction = reduction});
      },
      [](double x, double t) { return -t * std::log(x) - (1 - t) * std::log(1 - x); }, 0.05, 0.95);
  for (OpSample& sample : pointwise_loss_samples(
           [](const Tensor&x, const Tensor&t, Reduction reduction) {
             return bce_with_logits(x * 4.0, t, {.reduction = reduction});
           },
           [](double x, double t) { return logits_reference(x * 4, t, 1); }, 0.05, 0.95)) {
    sample.name = "logits: " + sample.name;
    all.push_back(std::move(sample));
  }
  const Array weight = Array::from(std::vector<double>{0.5, 2}, {2, 1});
  all.push_back({"logits with weights",
                 {sample_values({2, 3}, 611, -3, 3), sample_values({2, 3}, 612, 0, 1)},
                 [weight](std::span<const Tensor> in) {
                   const Device device = in[0].device();
                   return bce_with_logits(in[0], in[1],
                                          {Reduction::kNone, weight.to(device),
                                           Array::full({3}, 2.5, DType::kF64, device)});
                 },
                 [weight](std::span<const Array> in) {
                   const Array each = map_values(in[0], in[1], [](double x, double t) {
                     return logits_reference(x, t, 2.5);
                   });
                   return map_values(each, weight, [](double x, double w) { return x * w; });
                 }});
  return all;
}
extern const OpDef bce_loss_op = {"bce_loss", bce_loss_samples};

}  // namespace weft
