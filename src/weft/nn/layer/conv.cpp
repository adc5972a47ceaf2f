#include "weft/nn/conv.h"

#include "weft/nn/layer/sizes.h"
#include "weft/nn/norm.h"

namespace weft {

void ConvModule::register_filters(const Shape& weight, std::int64_t outputs, bool bias) {
  register_parameter("weight", weight_, weight, ParameterKind::kWeight,
                     default_weight_initializer());
  if (bias) {
    register_parameter("bias", bias_, {outputs}, ParameterKind::kBias,
                       default_bias_initializer(weight));
  }
}

Conv2d::Conv2d(const Conv2dShape& shape)
    : options_{.stride = shape.stride,
               .padding = shape.padding,
               .dilation = shape.dilation,
               .groups = shape.groups} {
  require_window("conv2d", {.kernel = shape.kernel,
                            .stride = shape.stride,
                            .padding = shape.padding,
                            .dilation = shape.dilation});
  require_groups("conv2d", shape.groups, shape.inputs, shape.outputs);
  const Shape weight = {shape.outputs, shape.inputs / shape.groups, shape.kernel[0],
                        shape.kernel[1]};
  register_filters(weight, shape.outputs, shape.bias);
}

Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight_, bias_, options_); }

Tensor Conv2d::forward_relu(const Tensor& x) {
  Conv2dOptions options = options_;
  options.activation = Activation::kRelu;
  return conv2d(x, weight_, bias_, options);
}

Tensor Conv2d::forward_normalized(const Tensor& x, Module& norm, bool relu) {
  auto* const batch_norm = dynamic_cast<BatchNorm2d*>(&norm);
  if (batch_norm == nullptr || batch_norm->is_training()) {
    return Module::forward_normalized(x, norm, relu);
  }
  Conv2dOptions options = options_;
  if (relu) options.activation = Activation::kRelu;
  return conv2d_normalized(x, weight_, bias_, options, batch_norm->evaluated());
}

Conv1d::Conv1d(const Conv1dShape& shape)
    : options_{.stride = shape.stride,
               .padding = shape.padding,
               .dilation = shape.dilation,
               .groups = shape.groups} {
  require_window("conv1d", {.kernel = shape.kernel,
                            .stride = shape.stride,
                            .padding = shape.padding,
                            .dilation = shape.dilation});
  require_groups("conv1d", shape.groups, shape.inputs, shape.outputs);
  const Shape weight = {shape.outputs, shape.inputs / shape.groups, shape.kernel};
  register_filters(weight, shape.outputs, shape.bias);
}

Tensor Conv1d::forward(const Tensor& x) { return conv1d(x, weight_, bias_, options_); }

Tensor Conv1d::forward_relu(const Tensor& x) {
  Conv1dOptions options = options_;
  options.activation = Activation::kRelu;
  return conv1d(x, weight_, bias_, options);
}

ConvTranspose2d::ConvTranspose2d(const ConvTranspose2dShape& shape)
    : options_{.stride = shape.stride,
               .padding = shape.padding,
               .output_padding = shape.output_padding,
               .dilation = shape.dilation,
               .groups = shape.groups} {
  require_window("conv_transpose2d", {.kernel = shape.kernel,
                                      .stride = shape.stride,
                                      .padding = shape.padding,
                                      .output_padding = shape.output_padding,
                                      .dilation = shape.dilation});
  require_groups("conv_transpose2d", shape.groups, shape.inputs, shape.outputs);
  const Shape weight = {shape.inputs, shape.outputs / shape.groups, shape.kernel[0],
                        shape.kernel[1]};
  register_filters(weight, shape.outputs, shape.bias);
}

Tensor ConvTranspose2d::forward(const Tensor& x) {
  return conv_transpose2d(x, weight_, bias_, options_);
}

ConvTranspose1d::ConvTranspose1d(const ConvTranspose1dShape& shape)
    : options_{.stride = shape.stride,
               .padding = shape.padding,
               .output_padding = shape.output_padding,
               .dilation = shape.dilation,
               .groups = shape.groups} {
  require_window("conv_transpose1d", {.kernel = shape.kernel,
                                      .stride = shape.stride,
                                      .padding = shape.padding,
                                      .output_padding = shape.output_padding,
                                      .dilation = shape.dilation});
  require_groups("conv_transpose1d", shape.groups, shape.inputs, shape.outputs);
  const Shape weight = {shape.inputs, shape.outputs / shape.groups, shape.kernel};
  register_filters(weight, shape.outputs, shape.bias);
}

Tensor ConvTranspose1d::forward(const Tensor& x) {
  return conv_transpose1d(x, weight_, bias_, options_);
}

}  // namespace weft
