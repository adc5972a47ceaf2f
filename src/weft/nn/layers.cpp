#include "weft/nn/layers.h"

#include <initializer_list>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/op/ops.h"

namespace weft {
namespace {

void require_positive(const char* layer, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) {
    if (size < 1) {
      throw std::invalid_argument(
          fmt::format("[{}] expected sizes of at least 1, got {}", layer, size));
    }
  }
}

}  // namespace

Linear::Linear(std::int64_t inputs, std::int64_t outputs, bool bias) {
  require_positive("linear", {inputs, outputs});
  const Shape shape = {outputs, inputs};
  register_parameter("weight", weight_, shape, ParameterKind::kWeight,
                     default_weight_initializer());
  if (bias) {
    register_parameter("bias", bias_, {outputs}, ParameterKind::kBias,
                       default_bias_initializer(shape));
  }
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight_, bias_); }

Tensor Linear::forward_relu(const Tensor& x) {
  return linear(x, weight_, bias_, Activation::kRelu);
}

Conv2d::Conv2d(const Conv2dShape& shape)
    : options_{.stride = shape.stride,
               .padding = shape.padding,
               .dilation = shape.dilation,
               .groups = shape.groups} {
  require_positive("conv2d", {shape.inputs, shape.outputs, shape.groups, shape.kernel[0],
                              shape.kernel[1], shape.stride[0], shape.stride[1]});
  if (shape.inputs % shape.groups != 0 || shape.outputs % shape.groups != 0) {
    throw std::invalid_argument(
        fmt::format("[conv2d] expected channels that {} groups divide, got {} and {}", shape.groups,
                    shape.inputs, shape.outputs));
  }
  const Shape weight_shape = {shape.outputs, shape.inputs / shape.groups, shape.kernel[0],
                              shape.kernel[1]};
  register_parameter("weight", weight_, weight_shape, ParameterKind::kWeight,
                     default_weight_initializer());
  if (shape.bias) {
    register_parameter("bias", bias_, {shape.outputs}, ParameterKind::kBias,
                       default_bias_initializer(weight_shape));
  }
}

Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight_, bias_, options_); }

Tensor Conv2d::forward_relu(const Tensor& x) {
  Conv2dOptions options = options_;
  options.activation = Activation::kRelu;
  return conv2d(x, weight_, bias_, options);
}

Tensor ReLU::forward(const Tensor& x) { return relu(x); }

Tensor Tanh::forward(const Tensor& x) { return tanh(x); }

Tensor Sigmoid::forward(const Tensor& x) { return sigmoid(x); }

Tensor Flatten::forward(const Tensor& x) { return flatten(x, 1); }

Dropout::Dropout(double probability) : probability_(probability) {
  if (!(probability >= 0.0 && probability < 1.0)) {
    throw std::invalid_argument(
        fmt::format("[dropout] expected a probability in [0, 1), got {}", probability));
  }
}

Tensor Dropout::forward(const Tensor& x) {
  const StepContext& context = step_context();
  const DropoutKey key = {
      .seed = context.seed, .step = context.step, .layer = place(), .first_row = context.first_row};
  return dropout(x, probability_, key, is_training());
}

BatchNorm::BatchNorm(const BatchNormShape& shape, int ndim_min, int ndim_max, const char* name)
    : shape_(shape), ndim_min_(ndim_min), ndim_max_(ndim_max), name_(name) {
  require_positive(name, {shape.channels});
  const Shape channels = {shape.channels};
  register_parameter("weight", weight_, channels, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, channels, ParameterKind::kBias, constant_initializer(0));
  register_buffer("running_mean", running_mean_, channels, 0.0);
  register_buffer("running_var", running_var_, channels, 1.0);
}

Tensor BatchNorm::forward(const Tensor& x) {
  if (x.ndim() < ndim_min_ || x.ndim() > ndim_max_) {
    throw std::invalid_argument(fmt::format("[{}] expected {} to {} dimensions, got {}", name_,
                                            ndim_min_, ndim_max_, to_string(x.shape())));
  }
  return batch_norm(x, weight_, bias_, running_mean_, running_var_,
                    {.training = is_training(), .momentum = shape_.momentum, .eps = shape_.eps});
}

LayerNorm::LayerNorm(const Shape& normalized, double eps) : axes_(normalized.size()), eps_(eps) {
  if (normalized.empty()) {
    throw std::invalid_argument("[layer_norm] expected at least one axis, got none");
  }
  for (const std::int64_t size : normalized) require_positive("layer_norm", {size});
  register_parameter("weight", weight_, normalized, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, normalized, ParameterKind::kBias, constant_initializer(0));
}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, axes_, weight_, bias_, eps_); }

}  // namespace weft
