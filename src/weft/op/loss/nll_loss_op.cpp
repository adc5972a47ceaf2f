// nll_loss: minus the weighted log-probability of each target, reduced.
#include <limits>

#include "weft/array/launch.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/index_samples.h"
#include "weft/op/core/operands.h"
#include "weft/op/index.h"
#include "weft/op/loss.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// What each row looks up and how much it counts: class 0 and weight 0 for rows to ignore.
struct Lookup {
  Array classes;  // i64
  Array weights;  // f64
};

Lookup lookup(const Array& targets, const NllOptions& options, std::int64_t classes) {
  const Array class_weights = options.class_weights.defined()
                                  ? options.class_weights.to(DType::kF64).contiguous()
                                  : Array();
  Lookup result{Array::empty(targets.shape(), DType::kI64, targets.device()),
                Array::empty(targets.shape(), DType::kF64, targets.device())};
  launch("nll_targets", {&targets, &class_weights}, {&result.classes, &result.weights},
         [classes, ignore = options.ignore_index](LaunchArrays in, LaunchArrays out) {
           for (std::int64_t i = 0; i < in[0].size(); ++i) {
             const std::int64_t target = in[0].data<std::int64_t>()[i];
             const bool ignored = target == ignore;
             if (!ignored && (target < 0 || target >= classes)) {
               throw_operand("nll_loss", "targets in [0, " + std::to_string(classes) + ")",
                             std::to_string(target));
             }
             out[0].data<std::int64_t>()[i] = ignored ? 0 : target;
             out[1].data<double>()[i] = ignored           ? 0.0
                                        : in[1].defined() ? in[1].data<double>()[target]
                                                          : 1.0;
           }
         });
  return result;
}

}  // namespace

Tensor nll_loss(const Tensor& log_probabilities, const IndexOperand& targets,
                const NllOptions& options) {
  check_floating("nll_loss", log_probabilities);
  const Array wanted = targets.indexes("nll_loss", "targets");
  const int axis = log_probabilities.ndim() == 1 ? 0 : 1;
  Shape expected = log_probabilities.shape();
  if (expected.empty()) throw_operand("nll_loss", "logarithms of shape [N, C]", "[]");
  const std::int64_t classes = expected[axis];
  expected.erase(axis);
  if (!(wanted.shape() == expected)) {
    throw_operand("nll_loss", "targets of shape " + to_string(expected), to_string(wanted.shape()));
  }
  if (options.class_weights.defined() && !(options.class_weights.shape() == Shape{classes})) {
    throw_operand("nll_loss", "class weights of shape " + to_string(Shape{classes}),
                  to_string(options.class_weights.shape()));
  }
  const Lookup rows = lookup(wanted, options, classes);
  const Tensor picked =
      squeeze(gather(log_probabilities, axis, rows.classes.unsqueeze(axis)), axis);
  const Tensor weights(rows.weights.to(log_probabilities.dtype()));
  Tensor losses = -(picked * weights);
  if (options.reduction == Reduction::kNone) return losses;
  if (options.reduction == Reduction::kSum) return sum(losses);
  const Tensor total = sum(weights);
  const Tensor nothing = eq(total, 0.0);
  // The mean of no rows is no number, but its gradient is 0: a batch of padding alone must not
  // spoil the weights.
  const Tensor mean = sum(losses) / masked_fill(total, nothing, 1.0);
  return masked_fill(mean, nothing, std::numeric_limits<double>::quiet_NaN());
}

static OpSample nll_loss_sample(const char* name, const Shape& shape, const NllOptions& options) {
  Shape targets = shape;
  targets.erase(1);
  std::int64_t inner = 1;
  for (int i = 2; i < shape.size(); ++i) inner *= shape[i];
  return {name,
          {sample_values(shape, 631, -4, 0), sample_indexes(targets, shape[1], 632)},
          [options](std::span<const Tensor> in) {
            NllOptions own = options;
            own.class_weights = own.class_weights.to(in[0].device());
            return nll_loss(in[0], in[1], own);
          },
          [=](std::span<const Array> in) {
            double total = 0;
            double weight = 0;
            Array each = Array::zeros(targets, DType::kF64);
            for (std::int64_t i = 0; i < in[1].size(); ++i) {
              const std::int64_t target = in[1].data<std::int64_t>()[i];
              if (target == options.ignore_index) continue;
              const double w = options.class_weights.defined()
                                   ? options.class_weights.data<double>()[target]
                                   : 1.0;
              const std::int64_t at = (i / inner * shape[1] + target) * inner + i % inner;
              each.data<double>()[i] = -w * in[0].data<double>()[at];
              total += each.data<double>()[i];
              weight += w;
            }
            if (options.reduction == Reduction::kNone) return each;
            if (options.reduction == Reduction::kMean) total /= weight;
            return Array::full({}, total, DType::kF64);
          }};
}

static std::vector<OpSample> nll_loss_samples() {
  NllOptions special;
  special.ignore_index = 1;
  special.class_weights = Array::from(std::vector<double>{1, 2, 0.5, 3}, {4});
  NllOptions each = special;
  each.reduction = Reduction::kNone;
  return {nll_loss_sample("mean", {5, 4}, {}),
          nll_loss_sample("sum", {3, 7}, {.reduction = Reduction::kSum}),
          nll_loss_sample("weights and rows to ignore", {9, 4}, special),
          nll_loss_sample("pixels, each", {2, 4, 3}, each),
          nll_loss_sample("one element", {1, 1}, {}),
          nll_loss_sample("no rows", {0, 4}, {.reduction = Reduction::kSum})};
}
extern const OpDef nll_loss_op = {"nll_loss", nll_loss_samples};

}  // namespace weft
