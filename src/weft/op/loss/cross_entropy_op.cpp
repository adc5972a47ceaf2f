// cross_entropy: rows of ln sum e^x - x[target], reduced; dx = softmax(x) - one_hot.
#include <cmath>

#include "weft/kernel/reduce/cross_entropy.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/loss.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"
#include "weft/op/softmax.h"

namespace weft {
namespace {

Shape without(Shape shape, int axis) {
  shape.erase(axis);
  return shape;
}

// The axis of the classes.
int class_axis(const Tensor& logits, const Shape& targets, const CrossEntropyOptions& options) {
  const int last = logits.ndim() - 1;
  if (last < 0) throw_operand("cross_entropy", "logits of shape [N, C]", "[]");
  int axis = last;
  if (options.class_axis) {
    axis = normalize_axis("cross_entropy", *options.class_axis, logits.ndim());
  } else if (last > 1 && !(without(logits.shape(), last) == targets) &&
             without(logits.shape(), 1) == targets) {
    axis = 1;
  }
  const Shape expected = without(logits.shape(), axis);
  if (!(expected == targets)) {
    throw_operand("cross_entropy", "targets of shape " + to_string(expected), to_string(targets));
  }
  return axis;
}

Array checked_weights(const CrossEntropyOptions& options, std::int64_t classes) {
  if (!options.class_weights.defined()) return {};
  if (options.class_weights.shape() != Shape{classes}) {
    throw_operand("cross_entropy", "class weights of shape " + to_string(Shape{classes}),
                  to_string(options.class_weights.shape()));
  }
  return options.class_weights.to(DType::kF64).contiguous();
}

// A loss in the middle of its computation: what both kinds of gradient need.
struct Setting {
  Shape lines;  // the logits' shape with the classes last
  int axis;     // where they were
  Array targets;
  Array class_weights;
  CrossEntropyRule rule;
  CrossEntropyScale scale;  // without dy

  // Classes last and one row after the other.
  Array rows_of(const Array& logits) const {
    Array moved = logits.strided();
    for (int i = axis; i + 1 < lines.size(); ++i) moved = moved.transpose(i, i + 1);
    const std::int64_t count = targets.size();
    return moved.reshape({count, lines.back()});
  }
  Array unrows(const Array& rows) const {
    Array moved = rows.reshape(lines);
    for (int i = lines.size() - 1; i > axis; --i) moved = moved.transpose(i - 1, i);
    return moved;
  }
  Array gradient(const Array& probabilities, const Array& dy) const {
    CrossEntropyScale with_dy = scale;
    with_dy.dy = dy;
    return unrows(cross_entropy_gradient(probabilities, targets, class_weights, rule, with_dy));
  }
};

// The gradient is linear in the probabilities, with factors that do not depend on the logits.
Tensor tensor_gradient(const Setting& setting, const Tensor& logits, const Tensor& dy) {
  const Shape shape{setting.targets.size(), setting.lines.back()};
  const DType dtype = logits.dtype();
  const Device device = logits.device();
  const Array unit = Array::full({}, 1.0, dtype, device);
  const DType wide = size_of(dtype) < sizeof(float) ? DType::kF32 : dtype;
  const Tensor offset(setting.gradient(Array::zeros(shape, wide, device), unit));
  const Tensor slope =
      Tensor(setting.gradient(Array::full(shape, 1.0, wide, device), unit)) - offset;
  Tensor factor = dy;
  if (dy.ndim() != 0) {
    Shape spread = logits.shape();
    spread[setting.axis] = 1;
    factor = reshape(dy, spread);
  }
  return factor * (softmax(logits, setting.axis) * slope + offset);
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const IndexOperand& targets,
                     const CrossEntropyOptions& options) {
  check_floating("cross_entropy", logits);
  const Array classes = targets.indexes("cross_entropy", "targets");
  Setting setting{logits.shape(),
                  class_axis(logits, targets.shape(), options),
                  classes.reshape({classes.size()}),
                  {},
                  {},
                  {}};
  const std::int64_t count = logits.dim(setting.axis);
  setting.lines.erase(setting.axis);
  setting.lines.push_back(count);
  if (!(options.label_smoothing >= 0.0 && options.label_smoothing <= 1.0)) {
    throw_operand("cross_entropy", "label_smoothing in [0, 1]",
                  std::to_string(options.label_smoothing));
  }
  setting.class_weights = checked_weights(options, count);
  setting.rule = {options.ignore_index, options.label_smoothing};
  setting.scale.scale = options.scale;

  CrossEntropyRows rows = cross_entropy_rows(setting.rows_of(logits.array()), setting.targets,
                                             setting.class_weights, setting.rule);
  Array loss;
  if (options.reduction == Reduction::kNone) {
    loss = rows.losses.to(logits.dtype()).reshape(targets.shape());
    if (options.scale != 1.0) loss = mul(Tensor(loss), options.scale).array();
  } else {
    const bool is_mean = options.reduction == Reduction::kMean;
    loss = cross_entropy_sum(rows, is_mean, options.scale, logits.dtype());
    if (is_mean) setting.scale.weights = rows.weights;
  }
  const Tensor kept(setting.targets);  // an input, so that a write to it is noticed
  return record(
      "cross_entropy", std::move(loss), {&logits, &kept},
      [setting, probabilities = rows.probabilities](const Array& dy, const InputGradients& dx) {
        dx.add(0, setting.gradient(probabilities, dy));
      },
      [setting, probabilities = rows.probabilities, dtype = logits.dtype()](
          const Tensor& dy, const TensorGradients& dx) {
        // The logits up to a number for each row, which softmax does not see: they need not live.
        const Array logs = log(Tensor(probabilities)).array().to(dtype);
        dx.add(0, tensor_gradient(setting, dx.input(0, setting.unrows(logs)), dy));
      });
}

Tensor soft_cross_entropy(const Tensor& logits, const Tensor& probabilities, Reduction reduction) {
  if (!(logits.shape() == probabilities.shape()) || logits.ndim() == 0) {
    throw_operand("soft_cross_entropy", "probabilities of shape " + to_string(logits.shape()),
                  to_string(probabilities.shape()));
  }
  Tensor rows = neg(sum(log_softmax(logits, -1) * probabilities, {-1}));
  if (reduction == Reduction::kNone) return rows;
  return reduction == Reduction::kMean ? mean(rows) : sum(rows);
}

// Classes in the middle: element (i, c, j) of [outer, classes, inner].
static Array cross_entropy_reference(std::span<const Array> in, std::int64_t inner,
                                     const CrossEntropyOptions& options) {
  const auto count =
      static_cast<std::int64_t>(in[0].size() / std::max<std::int64_t>(1, in[1].size()));
  std::vector<double> losses;
  double weight_sum = 0;
  for (std::int64_t row = 0; row < in[1].size(); ++row) {
    const double* const x = in[0].data<double>() + row / inner * count * inner + row % inner;
    const std::int64_t target = in[1].data<std::int64_t>()[row];
    losses.push_back(0);
    if (target == options.ignore_index) continue;
    double total = 0;
    for (std::int64_t c = 0; c < count; ++c) total += std::exp(x[c * inner]);
    for (std::int64_t c = 0; c < count; ++c) {
      const double weight =
          options.class_weights.defined() ? options.class_weights.data<double>()[c] : 1.0;
      const double share = options.label_smoothing / static_cast<double>(count) +
                           (c == target ? 1.0 - options.label_smoothing : 0.0);
      losses.back() += share * weight * (std::log(total) - x[c * inner]);
      if (c == target) weight_sum += weight;
    }
  }
  for (double& loss : losses) loss *= options.scale;
  if (options.reduction == Reduction::kNone) return Array::from(losses, in[1].shape());
  double loss = 0;
  for (const double value : losses) loss += value;
  if (options.reduction == Reduction::kMean) loss /= weight_sum;
  return Array::full({}, loss, DType::kF64);
}

static OpSample cross_entropy_sample(const char* name, const Shape& shape, int axis,
                                     const CrossEntropyOptions& options) {
  Shape target_shape = shape;
  target_shape.erase(axis);
  std::vector<std::int64_t> targets(static_cast<std::size_t>(target_shape.num_elements()));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    targets[i] = static_cast<std::int64_t>(i * 7 + 3) % shape[axis];
  }
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  return OpSample{
      name,
      {sample_values(shape, 41, -4.0, 4.0), Array::from(targets, target_shape)},
      [options](std::span<const Tensor> in) {
        CrossEntropyOptions own = options;
        own.class_weights = own.class_weights.to(in[0].device());
        return cross_entropy(in[0], in[1].array(), own);
      },
      [=](std::span<const Array> in) { return cross_entropy_reference(in, inner, options); }};
}

static std::vector<OpSample> cross_entropy_samples() {
  CrossEntropyOptions smooth;
  smooth.label_smoothing = 0.1;
  CrossEntropyOptions ignoring;
  ignoring.ignore_index = 3;
  CrossEntropyOptions weighted = smooth;
  weighted.class_weights = Array::from(std::vector<double>{0.5, 2, 1, 0, 3}, {5});
  weighted.ignore_index = 0;
  CrossEntropyOptions each = weighted;
  each.reduction = Reduction::kNone;
  each.scale = 0.25;
  CrossEntropyOptions on_axis_1 = each;
  on_axis_1.class_axis = 1;
  return {cross_entropy_sample("mean", {5, 10}, 1, {}),
          cross_entropy_sample("sum", {3, 7}, 1, {Reduction::kSum, 1.0}),
          cross_entropy_sample("scaled sum", {4, 3}, 1, {Reduction::kSum, 1.0 / 64}),
          cross_entropy_sample("one element", {1, 1}, 1, {}),
          cross_entropy_sample("no rows", {0, 4}, 1, {Reduction::kSum, 1.0}),
          cross_entropy_sample("one row without a batch", {6}, 0, {}),
          cross_entropy_sample("smooth labels", {4, 6}, 1, smooth),
          cross_entropy_sample("rows to ignore", {6, 4}, 1, ignoring),
          cross_entropy_sample("class weights", {7, 5}, 1, weighted),
          cross_entropy_sample("tokens, each", {2, 3, 5}, 2, each),
          cross_entropy_sample("pixels", {2, 5, 3, 2}, 1, weighted),
          cross_entropy_sample("classes on axis 1 of a cube", {5, 5, 5}, 1, on_axis_1)};
}
extern const OpDef cross_entropy_op = {"cross_entropy", cross_entropy_samples};

}  // namespace weft
