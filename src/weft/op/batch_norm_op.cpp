// batch_norm: x normalised over all axes but the channels', then scaled and shifted by channel.
//
// IMPLEMENTATION: Ioffe, Szegedy, "Batch normalization", ICML 2015, algorithm 1; running variance
// with n - 1, as PyTorch keeps it.
#include <cmath>

#include "weft/kernel/elementwise.h"
#include "weft/kernel/normalize.h"
#include "weft/op/norm.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"

namespace weft {
namespace {

AxisMask all_but_channels(int ndim) { return ((AxisMask{1} << ndim) - 1) & ~AxisMask{2}; }

Shape channel_shape(const Tensor& x) {
  Shape shape = Shape::filled(x.ndim(), 1);
  shape[1] = x.dim(1);
  return shape;
}

void check_channel_vector(const char* what, const Array& vector, const Tensor& x) {
  if (vector.ndim() == 1 && vector.dim(0) == x.dim(1) && vector.dtype() == x.dtype()) return;
  throw_operand("batch_norm",
                std::string(what) + " of shape [" + std::to_string(x.dim(1)) + "] and type " +
                    std::string(to_string(x.dtype())),
                to_string(vector.shape()) + " " + std::string(to_string(vector.dtype())));
}

// running = (1 - momentum) * running + momentum * batch.
void move_towards(Array& running, const Array& batch, double momentum) {
  running.copy_from(binary(BinaryOp::kAdd, binary(BinaryOp::kMul, running, 1.0 - momentum),
                           binary(BinaryOp::kMul, batch.reshape(running.shape()), momentum)));
}

Normalized normalize_batch(const Tensor& x, Array& running_mean, Array& running_var,
                           const BatchNormOptions& options) {
  if (!options.training) {
    if (!running_mean.defined() || !running_var.defined()) {
      throw_operand("batch_norm", "running statistics outside of training", "none");
    }
    const Shape shape = channel_shape(x);
    return normalize_with(x.array(), running_mean.reshape(shape), running_var.reshape(shape),
                          options.eps);
  }
  const std::int64_t count = x.dim(1) == 0 ? 0 : x.size() / x.dim(1);
  if (count <= 1 && x.dim(1) != 0) {
    throw_operand("batch_norm", "more than one value a channel when training",
                  to_string(x.shape()));
  }
  Normalized normalized = normalize(x.array(), all_but_channels(x.ndim()), options.eps);
  if (running_mean.defined()) move_towards(running_mean, normalized.mean, options.momentum);
  if (running_var.defined()) {
    const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
    move_towards(running_var, binary(BinaryOp::kMul, normalized.variance, unbiased),
                 options.momentum);
  }
  return normalized;
}

void check(const Tensor& x, const Tensor& weight, const Tensor& bias, const Array& running_mean,
           const Array& running_var) {
  check_floating("batch_norm", x);
  if (x.ndim() < 2) throw_operand("batch_norm", "x of shape [N, C, ...]", to_string(x.shape()));
  if (weight.defined() != bias.defined()) {
    throw_operand("batch_norm", "weight and bias, or neither", "one of them");
  }
  if (weight.defined()) check_channel_vector("a weight", weight.array(), x);
  if (bias.defined()) check_channel_vector("a bias", bias.array(), x);
  if (running_mean.defined()) check_channel_vector("a running mean", running_mean, x);
  if (running_var.defined()) check_channel_vector("a running variance", running_var, x);
}

struct Saved {
  Normalized normalized;
  Array scale;  // the weight with x's number of axes; undefined without one
  bool training;
};

void run_backward(const Saved& saved, const Array& dy, const InputGradients& dx) {
  const Normalized& normalized = saved.normalized;
  const AxisMask axes = all_but_channels(dy.ndim());
  const Array g = dy.strided();
  const Array slope = saved.scale.defined()
                          ? binary(BinaryOp::kMul, normalized.inverse_deviation, saved.scale)
                          : normalized.inverse_deviation;
  const Shape channels = {dy.dim(1)};
  if (saved.training && dx.needs(0)) {
    NormalizedGradient gradient = normalize_gradient(g, normalized, axes, slope);
    dx.add(0, std::move(gradient.x));
    if (dx.needs(1)) dx.add(1, gradient.product_sum.reshape(channels));
    if (dx.needs(2)) dx.add(2, gradient.sum.reshape(channels));
    return;
  }
  if (dx.needs(0)) dx.add(0, binary(BinaryOp::kMul, g, slope));
  if (dx.needs(1)) {
    const Array products = binary(BinaryOp::kMul, g, normalized.values);
    dx.add(1, reduce(ReduceOp::kSum, products, axes, false));
  }
  if (dx.needs(2)) dx.add(2, reduce(ReduceOp::kSum, g, axes, false));
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, Array& running_mean,
                  Array& running_var, const BatchNormOptions& options) {
  check(x, weight, bias, running_mean, running_var);
  Normalized normalized = normalize_batch(x, running_mean, running_var, options);
  const Shape shape = channel_shape(x);
  const Array scale = weight.defined() ? weight.array().reshape(shape) : Array();
  Array y = normalized.values;
  if (scale.defined()) {
    y = binary(BinaryOp::kMul, y, scale);
    binary_into(BinaryOp::kAdd, y, bias.array().reshape(shape), y);
  }
  return record("batch_norm", std::move(y), {&x, &weight, &bias},
                [saved = Saved{std::move(normalized), scale, options.training}](
                    const Array& dy, const InputGradients& dx) { run_backward(saved, dy, dx); });
}

// Inputs x, weight, bias; in evaluation the running statistics are 0.5 + c and 1 + c.
static Array reference(std::span<const Array> in, bool training) {
  const Array& x = in[0];
  const std::int64_t channels = x.dim(1);
  Array y = Array::empty(x.shape(), DType::kF64);
  if (x.size() == 0) return y;
  const std::int64_t inside = x.size() / x.dim(0) / channels;
  const double* const values = x.data<double>();
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    double squares = 0;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (i / inside % channels != c) continue;
      sum += values[i];
      squares += values[i] * values[i];
      ++count;
    }
    const auto n = static_cast<double>(count);
    const auto channel = static_cast<double>(c);
    const double mean = training ? sum / n : 0.5 + channel;
    const double variance = training ? squares / n - mean * mean : 1.0 + channel;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      if (i / inside % channels != c) continue;
      double out = (values[i] - mean) / std::sqrt(variance + 1e-5);
      if (in.size() > 1) out = out * in[1].data<double>()[c] + in[2].data<double>()[c];
      y.data<double>()[i] = out;
    }
  }
  return y;
}

static Tensor apply(std::span<const Tensor> in, bool training) {
  Array mean = Array::empty({in[0].dim(1)}, in[0].dtype());
  Array variance = Array::empty({in[0].dim(1)}, in[0].dtype());
  for (int c = 0; c < in[0].dim(1); ++c) {
    mean.select(0, c).fill(0.5 + c);
    variance.select(0, c).fill(1.0 + c);
  }
  const Tensor none;
  const bool affine = in.size() > 1;
  return batch_norm(in[0], affine ? in[1] : none, affine ? in[2] : none, mean, variance,
                    {training, 0.1, 1e-5});
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, const Shape& shape, bool training, bool affine) {
    std::vector<Array> inputs = {sample_values(shape, 61, -2.0, 3.0)};
    if (affine) {
      inputs.push_back(sample_values({shape[1]}, 62, 0.5, 1.5));
      inputs.push_back(sample_values({shape[1]}, 63));
    }
    return OpSample{name, std::move(inputs),
                    [training](std::span<const Tensor> in) { return apply(in, training); },
                    [training](std::span<const Array> in) { return reference(in, training); }};
  };
  return {sample("training, images", {3, 2, 3, 5}, true, true),
          sample("training, vectors", {7, 3}, true, true),
          sample("training, no weight", {4, 3, 2}, true, false),
          sample("evaluation, images", {2, 3, 2, 3}, false, true),
          sample("evaluation, no weight", {3, 4}, false, false),
          sample("one element", {1, 1}, false, true),
          sample("no rows", {0, 3}, false, true)};
}
extern const OpDef batch_norm_op = {"batch_norm", samples};

}  // namespace weft
