// Rules for the layers of images and for normalisations.
#include <fmt/format.h>

#include "weft/io/onnx/onnx_emitter.h"

namespace weft {
namespace {

using Integers = std::vector<std::int64_t>;

std::string with_relu(OnnxEmitter& out, const std::string& value) {
  return out.number("relu") != 0.0 ? out.node("Relu", {value}) : value;
}

// x W^T + b: Gemm of a matrix, else MatMul, which takes any leading axes.
void emit_linear(OnnxEmitter& out) {
  if (out.op().inputs[0].ndim() == 2) {
    std::vector<std::string> inputs = {out.in(0), out.in(1)};
    if (out.has(2)) inputs.push_back(out.in(2));
    const OnnxAttribute transposed = onnx_attribute("transB", std::int64_t{1});
    out.result(with_relu(out, out.node("Gemm", std::move(inputs), {transposed})));
    return;
  }
  std::string y = out.node("MatMul", {out.in(0), out.permute(out.in(1), {1, 0})});
  if (out.has(2)) y = out.node("Add", {y, out.in(2)});
  out.result(with_relu(out, y));
}

Integers both_sides(const Integers& padding) {
  Integers pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

void emit_conv2d(OnnxEmitter& out) {
  std::vector<std::string> inputs = {out.in(0), out.in(1)};
  if (out.has(2)) inputs.push_back(out.in(2));
  const Shape& weight = out.op().inputs[1].shape();
  const std::string y =
      out.node("Conv", std::move(inputs),
               {onnx_attribute("dilations", out.integers("dilation")),
                onnx_attribute("group", static_cast<std::int64_t>(out.number("groups"))),
                onnx_attribute("kernel_shape", Integers{weight[2], weight[3]}),
                onnx_attribute("pads", both_sides(out.integers("padding"))),
                onnx_attribute("strides", out.integers("stride"))});
  out.result(with_relu(out, y));
}

OnnxEmitter::Attributes pool_attributes(OnnxEmitter& out) {
  return {onnx_attribute("kernel_shape", out.integers("kernel")),
          onnx_attribute("strides", out.integers("stride")),
          onnx_attribute("pads", both_sides(out.integers("padding"))),
          onnx_attribute("ceil_mode", static_cast<std::int64_t>(out.number("ceil")))};
}
void emit_max_pool2d(OnnxEmitter& out) {
  out.result(out.node("MaxPool", {out.in(0)}, pool_attributes(out)));
}
void emit_avg_pool2d(OnnxEmitter& out) {
  OnnxEmitter::Attributes attributes = pool_attributes(out);
  attributes.push_back(onnx_attribute("count_include_pad",
                                      static_cast<std::int64_t>(out.number("count_include_pad"))));
  out.result(out.node("AveragePool", {out.in(0)}, std::move(attributes)));
}

// One window, or windows of one size that fill the image.
void emit_adaptive(OnnxEmitter& out, const char* global, const char* plain) {
  const Integers size = out.integers("size");
  if (size == Integers{1, 1}) {
    out.result(out.node(global, {out.in(0)}));
    return;
  }
  const Shape& shape = out.op().inputs[0].shape();
  if (shape[2] % size[0] != 0 || shape[3] % size[1] != 0) {
    out.fail(fmt::format("expected \"{}\" to a size that divides the image, got {}x{} of {}x{}",
                         out.op().name, size[0], size[1], shape[2], shape[3]));
  }
  const Integers kernel = {shape[2] / size[0], shape[3] / size[1]};
  out.result(out.node(plain, {out.in(0)},
                      {onnx_attribute("kernel_shape", kernel), onnx_attribute("strides", kernel)}));
}
void emit_adaptive_avg_pool2d(OnnxEmitter& out) {
  emit_adaptive(out, "GlobalAveragePool", "AveragePool");
}
void emit_adaptive_max_pool2d(OnnxEmitter& out) { emit_adaptive(out, "GlobalMaxPool", "MaxPool"); }

// Input `index`, or constant values of `shape` where there is none.
std::string or_constant(OnnxEmitter& out, std::size_t index, const Shape& shape, double value) {
  return out.has(index) ? out.in(index) : out.constant(Array::full(shape, value));
}

void emit_batch_norm(OnnxEmitter& out) {
  if (out.number("training") != 0.0) out.fail("expected batch_norm in evaluation mode");
  const Shape channels = {out.op().inputs[0].dim(1)};
  const std::string y =
      out.node("BatchNormalization",
               {out.in(0), or_constant(out, 1, channels, 1.0), or_constant(out, 2, channels, 0.0),
                out.value_of(out.op().find("running_mean")->array),
                out.value_of(out.op().find("running_var")->array)},
               {onnx_attribute("epsilon", out.number("eps"))});
  out.result(with_relu(out, y));
}

void emit_layer_norm(OnnxEmitter& out) {
  const auto axes = static_cast<int>(out.number("axes"));
  const Shape& shape = out.op().inputs[0].shape();
  const Shape inner(std::span<const std::int64_t>(shape.end() - axes, shape.end()));
  std::vector<std::string> inputs = {out.in(0), or_constant(out, 1, inner, 1.0)};
  if (out.has(2)) inputs.push_back(out.in(2));
  out.result(out.node("LayerNormalization", std::move(inputs),
                      {onnx_attribute("axis", static_cast<std::int64_t>(-axes)),
                       onnx_attribute("epsilon", out.number("eps"))}));
}

// x / sqrt(mean(x^2) + eps) * weight
void emit_rms_norm(OnnxEmitter& out) {
  const std::string x = out.in(0);
  Integers axes;
  for (auto axis = -static_cast<std::int64_t>(out.number("axes")); axis < 0; ++axis) {
    axes.push_back(axis);
  }
  const std::string mean =
      out.node("ReduceMean", {out.node("Mul", {x, x})}, {onnx_attribute("axes", axes)});
  const std::string root =
      out.node("Sqrt", {out.node("Add", {mean, out.scalar(out.number("eps"))})});
  std::string y = out.node("Div", {x, root});
  if (out.has(1)) y = out.node("Mul", {y, out.in(1)});
  out.result(y);
}

// Groups as the channels of an instance normalisation.
void emit_group_norm(OnnxEmitter& out) {
  const Shape& shape = out.op().inputs[0].shape();
  const auto groups = static_cast<std::int64_t>(out.number("groups"));
  const std::string grouped = out.reshape(out.in(0), {0, groups, -1});
  const std::string normal = out.node(
      "InstanceNormalization",
      {grouped, out.constant(Array::full({groups}, 1.0)), out.constant(Array::full({groups}, 0.0))},
      {onnx_attribute("epsilon", out.number("eps"))});
  std::string y = out.reshape(normal, out.open_shape());
  Integers channels(static_cast<std::size_t>(shape.size()), 1);
  channels[1] = shape[1];
  if (out.has(1)) y = out.node("Mul", {y, out.reshape(out.in(1), channels)});
  if (out.has(2)) y = out.node("Add", {y, out.reshape(out.in(2), channels)});
  out.result(y);
}

constexpr OnnxRule kLayersRules[] = {
    {"adaptive_avg_pool2d", emit_adaptive_avg_pool2d},
    {"adaptive_max_pool2d", emit_adaptive_max_pool2d},
    {"avg_pool2d", emit_avg_pool2d},
    {"batch_norm", emit_batch_norm},
    {"conv2d", emit_conv2d},
    {"group_norm", emit_group_norm},
    {"instance_norm", emit_group_norm},
    {"layer_norm", emit_layer_norm},
    {"linear", emit_linear},
    {"max_pool2d", emit_max_pool2d},
    {"rms_norm", emit_rms_norm},
};

}  // namespace

std::span<const OnnxRule> onnx_layer_rules() { return kLayersRules; }

}  // namespace weft
