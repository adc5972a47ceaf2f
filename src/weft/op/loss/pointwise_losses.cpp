#include "weft/op/loss/pointwise_losses.h"

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {

Tensor pointwise_losses(const PointwiseLossOp& op, const Tensor& x, const Tensor& target,
                        const Array& weight) {
  if (differ(x, target)) {
    const Operands both = promote_floating(op.name, x, target);
    return pointwise_losses(op, both.a, both.b, weight);
  }
  check_operands(op.name, x, target);
  const Shape shape = broadcast_shapes(x.shape(), target.shape());
  if (!(x.shape() == shape) || !(target.shape() == shape)) {
    return pointwise_losses(op, expand(x, shape), expand(target, shape), weight);
  }
  if (weight.defined() && !(broadcast_shapes(weight.shape(), shape) == shape)) {
    throw_operand(op.name, "weights that broadcast to " + to_string(shape),
                  to_string(weight.shape()));
  }
  const Array from = x.array().strided();
  const Array to = target.array().strided();
  const Array weights = weight.defined() ? weight.to(x.dtype()).expand(shape) : Array();
  return record(
      op.name, pointwise_loss(op.rule, LossPart::kValue, from, to, weights, {}), {&x, &target},
      [=, rule = op.rule](const Array& dy, const InputGradients& dx) {
        const Array factor = dy.strided();
        if (dx.needs(0)) {
          dx.add(0, pointwise_loss(rule, LossPart::kByInput, from, to, weights, factor));
        }
        if (dx.needs(1)) {
          dx.add(1, pointwise_loss(rule, LossPart::kByTarget, from, to, weights, factor));
        }
      },
      [=, c = op.rule.parameter, derivatives = op.derivatives](const Tensor& dy,
                                                               const TensorGradients& dx) {
        const Tensor input = dx.input(0, from);
        const Tensor aim = dx.input(1, to);
        if (dx.needs(0)) dx.add(0, dy * derivatives.by_input(input, aim, weights, c));
        if (dx.needs(1)) dx.add(1, dy * derivatives.by_target(input, aim, weights, c));
      });
}

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::kNone) return losses;
  return reduction == Reduction::kMean ? mean(losses) : sum(losses);
}

std::vector<OpSample> pointwise_loss_samples(
    const std::function<Tensor(const Tensor&, const Tensor&, Reduction)>& op,
    const std::function<double(double x, double target)>& reference, double low, double high) {
  const auto sample = [=](const char* name, const Shape& x, const Shape& target,
                          Reduction reduction) {
    return OpSample{name,
                    {sample_values(x, 601, low, high), sample_values(target, 602, low, high)},
                    [=](std::span<const Tensor> in) { return op(in[0], in[1], reduction); },
                    [=](std::span<const Array> in) {
                      Array each = map_values(in[0], in[1], reference);
                      if (reduction == Reduction::kNone) return each;
                      double total = 0;
                      for (const double value : each.flat<double>()) total += value;
                      if (reduction == Reduction::kMean) total /= static_cast<double>(each.size());
                      return Array::full({}, total, DType::kF64);
                    }};
  };
  return {sample("mean", {3, 5}, {3, 5}, Reduction::kMean),
          sample("sum", {4, 3}, {4, 3}, Reduction::kSum),
          sample("each, target broadcast", {2, 7}, {7}, Reduction::kNone),
          sample("one element", {1}, {1}, Reduction::kMean),
          sample("no elements", {0, 3}, {0, 3}, Reduction::kSum)};
}

}  // namespace weft
