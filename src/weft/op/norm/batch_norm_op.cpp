// batch_norm: x normalised over all axes but the channels', then scaled and shifted by channel.
//
// IMPLEMENTATION: Ioffe, Szegedy, "Batch normalization", ICML 2015, algorithm 1; running variance
// with n - 1, as PyTorch keeps it.
#include <algorithm>
#include <cmath>

#include "weft/autograd/function/checkpoint.h"
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/kernel/norm/norm.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/norm.h"
#include "weft/op/norm/normalizing.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_channel_vector(const char* what, const Array& vector, const Tensor& x) {
  const bool running = std::string(what).starts_with("a running");
  const bool fits = vector.dtype() == x.dtype() || (running && is_half(x));
  if (vector.ndim() == 1 && vector.dim(0) == x.dim(1) && fits) return;
  throw_operand("batch_norm",
                std::string(what) + " of shape [" + std::to_string(x.dim(1)) + "] and type " +
                    std::string(to_string(x.dtype())),
                to_string(vector.shape()) + " " + std::string(to_string(vector.dtype())));
}

// How many values a channel has.
std::int64_t count_of(const Tensor& x) { return x.dim(1) == 0 ? 0 : x.size() / x.dim(1); }

void check_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                      const Array& running_mean, const Array& running_var, bool training) {
  check_floating("batch_norm", x);
  if (x.ndim() < 2) throw_operand("batch_norm", "x of shape [N, C, ...]", to_string(x.shape()));
  if (weight.defined() != bias.defined()) {
    throw_operand("batch_norm", "weight and bias, or neither", "one of them");
  }
  if (weight.defined()) check_channel_vector("a weight", weight.array(), x);
  if (bias.defined()) check_channel_vector("a bias", bias.array(), x);
  if (running_mean.defined()) check_channel_vector("a running mean", running_mean, x);
  if (running_var.defined()) check_channel_vector("a running variance", running_var, x);
  if (!training && (!running_mean.defined() || !running_var.defined())) {
    throw_operand("batch_norm", "running statistics outside of training", "none");
  }
  if (training && count_of(x) == 1) {
    throw_operand("batch_norm", "more than one value a channel when training",
                  to_string(x.shape()));
  }
}

struct BatchNormSaved {
  Array x;
  Array weight;
  Array bias;
  BatchNormed statistics;
  BatchNormSpec spec;
};

// The kernels take images of bf16 as they are and those of f16 as f32; weights are f32 for both.
// What is kept for the gradients has the 16-bit type.
Array taken(const Array& x) { return x.dtype() == DType::kF16 ? computed(x) : x; }

void run_batch_norm_backward(const BatchNormSaved& saved, const Array& dy,
                             const InputGradients& dx) {
  const NormGradients gradients =
      batch_norm_backward(taken(dy), taken(saved.x), computed(saved.weight), computed(saved.bias),
                          saved.statistics, saved.spec);
  if (dx.needs(0)) dx.add(0, convert(gradients.x, dy.dtype()));
  if (dx.needs(1)) dx.add(1, convert(gradients.weight, dy.dtype()));
  if (dx.needs(2)) dx.add(2, convert(gradients.bias, dy.dtype()));
}

// Moves running statistics of any floating type.
void move_any_running(Array& running, const Array& batch, double momentum, double scale) {
  Array wide = computed(running);
  move_running(wide, batch, momentum, scale);
  if (wide.dtype() != running.dtype()) running.copy_from(wide);
}

// A vector of channels with x's number of axes.
Tensor across(const Tensor& vector, const Tensor& x) {
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[1] = x.dim(1);
  return reshape(vector, shape);
}

NormalizedTensors normalized(const BatchNormSaved& saved, const Tensor& x,
                             const std::vector<int>& axes) {
  if (saved.spec.training) return normalize_tensors(x, axes, saved.spec.eps, true);
  const Tensor mean(saved.statistics.mean.to(x.dtype()));
  const Tensor variance(saved.statistics.variance.to(x.dtype()));
  const Tensor inverse = 1.0 / sqrt(across(variance, x) + saved.spec.eps);
  return {(x - across(mean, x)) * inverse, inverse};
}

// 1 where the result was above 0.
Tensor relu_mask(const BatchNormSaved& saved, const Tensor& values) {
  Tensor y = values;
  if (saved.weight.defined()) {
    const Tensor weight(computed(saved.weight));
    const Tensor bias(computed(saved.bias));
    y = values * across(weight, values) + across(bias, values);
  }
  return Tensor(relu_backward(Array::full(y.shape(), 1.0, y.dtype(), y.device()), y.array()));
}

void run_batch_norm_tensor_backward(const BatchNormSaved& saved, const Tensor& dy,
                                    const TensorGradients& dx) {
  const DType type = dy.dtype();
  const Tensor x = widened(dx.input(0, saved.x));
  std::vector<int> axes;
  for (int i = 0; i < x.ndim(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const NormalizedTensors normal = normalized(saved, x, axes);
  const bool affine = saved.weight.defined();
  const Tensor weight = affine ? across(widened(dx.input(1, saved.weight)), x) : Tensor();
  Tensor g = widened(dy);
  if (saved.spec.relu) g = g * relu_mask(saved, normal.values.detach());
  if (dx.needs(1)) dx.add(1, cast(sum(g * normal.values, axes), type));
  if (dx.needs(2)) dx.add(2, cast(sum(g, axes), type));
  if (!dx.needs(0)) return;
  if (affine) g = g * weight;
  dx.add(0, cast(saved.spec.training ? normalize_tensors_gradient(g, normal, axes, true)
                                     : g * normal.inverse,
                 type));
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Array& running_mean,
                  Array& running_var, const BatchNormOptions& options) {
  check_batch_norm(x, weight, bias, running_mean, running_var, options.training);
  const BatchNormSpec spec{options.eps, options.activation == Activation::kRelu, options.training};
  BatchNormSaved saved{x.array(), weight.array(), bias.array(), {}, spec};
  if (options.training) {
    saved.statistics = batch_norm_forward(taken(saved.x), computed(saved.weight),
                                          computed(saved.bias), spec, {}, {});
    const auto n = static_cast<double>(count_of(x));
    // A checkpoint that runs this again must not move them twice.
    if (running_mean.defined() && !recomputing()) {
      move_any_running(running_mean, saved.statistics.mean, options.momentum, 1.0);
    }
    if (running_var.defined() && !recomputing()) {
      move_any_running(running_var, saved.statistics.variance, options.momentum, n / (n - 1));
    }
  } else {
    saved.statistics =
        batch_norm_forward(taken(saved.x), computed(saved.weight), computed(saved.bias), spec,
                           running_mean.to(DType::kF64).contiguous().clone(),
                           running_var.to(DType::kF64).contiguous().clone());
  }
  Array y = convert(saved.statistics.y, x.dtype());
  saved.statistics.y = Array();
  if (op_tracing()) {
    trace_attributes("batch_norm",
                     {{"running_mean", {}, running_mean},
                      {"running_var", {}, running_var},
                      {"training", {options.training ? 1.0 : 0.0}},
                      {"eps", {options.eps}},
                      {"relu", {options.activation == Activation::kRelu ? 1.0 : 0.0}}});
  }
  return record(
      "batch_norm", std::move(y), {&x, &weight, &bias},
      [saved](const Array& dy, const InputGradients& dx) {
        run_batch_norm_backward(saved, dy, dx);
      },
      [saved](const Tensor& dy, const TensorGradients& dx) {
        run_batch_norm_tensor_backward(saved, dy, dx);
      });
}

static Array batch_norm_reference(std::span<const Array> in, bool training, bool relu) {
  const Array& x = in[0];
  const std::int64_t channels = x.dim(1);
  std::int64_t inside = 1;
  for (int axis = 2; axis < x.ndim(); ++axis) inside *= x.dim(axis);
  const auto channel_of = [=](std::int64_t i) { return i / inside % channels; };
  Array y;
  if (training) {
    y = norm_reference(in, {channel_of, channel_of});
  } else {
    y = Array::empty(x.shape(), DType::kF64);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::int64_t c = channel_of(i);
      const auto channel = static_cast<double>(c);
      double out = (x.data<double>()[i] - (0.5 + channel)) / std::sqrt(1.0 + channel + 1e-5);
      if (in.size() > 1) out = out * in[1].data<double>()[c] + in[2].data<double>()[c];
      y.data<double>()[i] = out;
    }
  }
  if (relu) return map_values(y, [](double v) { return std::max(v, 0.0); });
  return y;
}

static Tensor apply_batch_norm(std::span<const Tensor> in, bool training, bool relu) {
  Array mean = Array::empty({in[0].dim(1)}, in[0].dtype(), in[0].device());
  Array variance = Array::empty({in[0].dim(1)}, in[0].dtype(), in[0].device());
  for (int c = 0; c < in[0].dim(1); ++c) {
    mean.select(0, c).fill(0.5 + c);
    variance.select(0, c).fill(1.0 + c);
  }
  const Tensor none;
  const bool affine = in.size() > 1;
  return batch_norm(in[0], affine ? in[1] : none, affine ? in[2] : none, mean, variance,
                    {training, 0.1, 1e-5, relu ? Activation::kRelu : Activation::kNone});
}

static std::vector<OpSample> batch_norm_samples() {
  const auto sample = [](const char* name, const Shape& shape, bool training, bool affine,
                         bool relu = false) {
    std::vector<Array> inputs = {sample_values(shape, 61, -2.0, 3.0)};
    if (affine) {
      inputs.push_back(sample_values({shape[1]}, 62, 0.5, 1.5));
      inputs.push_back(sample_values({shape[1]}, 63));
    }
    return OpSample{
        name, std::move(inputs),
        [=](std::span<const Tensor> in) { return apply_batch_norm(in, training, relu); },
        [=](std::span<const Array> in) { return batch_norm_reference(in, training, relu); }};
  };
  return {sample("training, images", {3, 2, 3, 5}, true, true),
          sample("training, vectors", {7, 3}, true, true),
          sample("training, many channels", {9, 19}, true, true, true),
          sample("training, many pixels", {2, 2, 13, 11}, true, true),
          sample("training, no weight", {4, 3, 2}, true, false),
          sample("training, relu", {4, 3, 3, 3}, true, true, true),
          sample("evaluation, images", {2, 3, 2, 3}, false, true),
          sample("evaluation, relu", {2, 3, 9}, false, true, true),
          sample("evaluation, no weight", {3, 4}, false, false),
          sample("one element", {1, 1}, false, true),
          sample("no rows", {0, 3}, false, true)};
}
extern const OpDef batch_norm_op = {"batch_norm", batch_norm_samples};

}  // namespace weft
