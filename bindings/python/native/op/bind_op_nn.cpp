// The operations of layers, as weft._core.NAME; the package shows them in weft.nn.functional.

#include "core/autocast.h"
#include "core/define.h"
#include "core/module.h"
#include "weft/kernel/random/random.h"
#include "weft/op/activation.h"
#include "weft/op/attention.h"
#include "weft/op/conv.h"
#include "weft/op/dropout.h"
#include "weft/op/embedding.h"
#include "weft/op/linear.h"
#include "weft/op/norm.h"
#include "weft/op/pool.h"
#include "weft/op/shape.h"

namespace weft::python {
namespace {

namespace py = pybind11;

using OptionalTensor = std::optional<Tensor>;
using Release = py::call_guard<py::gil_scoped_release>;

Tensor or_none(const OptionalTensor& tensor) { return tensor.value_or(Tensor()); }

// 3 or (3, 5): {height, width}.
Pair pair_of(const Dims& dims) {
  if (dims.size() == 1) return {dims[0], dims[0]};
  if (dims.size() == 2) return {dims[0], dims[1]};
  throw std::invalid_argument("expected one whole number or two, got " + to_string(dims));
}
std::int64_t single_of(const Dims& dims) {
  if (dims.size() == 1) return dims[0];
  throw std::invalid_argument("expected one whole number, got " + to_string(dims));
}

Activation activation_of(bool relu) { return relu ? Activation::kRelu : Activation::kNone; }

void bind_linear(Definer& define) {
  define.function(
      "linear",
      [](const Tensor& x, const Tensor& weight, const OptionalTensor& bias, bool relu) {
        return linear(lowered(x), lowered(weight), lowered(or_none(bias)), activation_of(relu));
      },
      py::arg("input"), py::arg("weight"), py::arg("bias") = py::none(), py::kw_only(),
      py::arg("relu") = false, Release(),
      "[..., in] to [..., out]: input @ weight.T + bias; with relu, max(that, 0) in one pass.");
  define.function(
      "embedding",
      [](const Tensor& tokens, const Tensor& weight, std::optional<std::int64_t> padding_idx) {
        return embedding(weight, tokens, {padding_idx});
      },
      py::arg("input"), py::arg("weight"), py::arg("padding_idx") = py::none(), Release(),
      "Rows of weight [count, width] by whole numbers [...]: [..., width].");
  define.function(
      "_dropout",
      [](const Tensor& x, double p) {
        // A mask is a function of the default generator's state, which then goes on.
        constexpr std::uint64_t kPlaces = 16;
        Generator& generator = default_generator();
        const DropoutKey key{.seed = generator.seed(), .step = generator.offset()};
        generator.set(key.seed, key.step + kPlaces);
        const py::gil_scoped_release released;
        return dropout(x, p, key, true);
      },
      py::arg("input"), py::arg("p"));
}

Tensor convolved(const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                 const Dims& stride, const Dims& padding, const Dims& dilation, std::int64_t groups,
                 bool relu) {
  Conv2dOptions options;
  options.stride = pair_of(stride);
  options.padding = pair_of(padding);
  options.dilation = pair_of(dilation);
  options.groups = groups;
  options.activation = activation_of(relu);
  return conv2d(lowered(x), lowered(weight), lowered(or_none(bias)), options);
}

Tensor convolved_1d(const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                    const Dims& stride, const Dims& padding, const Dims& dilation,
                    std::int64_t groups) {
  Conv1dOptions options;
  options.stride = single_of(stride);
  options.padding = single_of(padding);
  options.dilation = single_of(dilation);
  options.groups = groups;
  return conv1d(lowered(x), lowered(weight), lowered(or_none(bias)), options);
}

Tensor conv_transposed(const Tensor& x, const Tensor& weight, const OptionalTensor& bias,
                       const Dims& stride, const Dims& padding, const Dims& output_padding,
                       std::int64_t groups, const Dims& dilation) {
  ConvTranspose2dOptions options;
  options.stride = pair_of(stride);
  options.padding = pair_of(padding);
  options.output_padding = pair_of(output_padding);
  options.groups = groups;
  options.dilation = pair_of(dilation);
  return conv_transpose2d(widened(x), weight, or_none(bias), options);
}

void bind_convolutions(Definer& define) {
  define.function("conv2d", convolved, py::arg("input"), py::arg("weight"),
                  py::arg("bias") = py::none(), py::arg("stride") = Dims{1},
                  py::arg("padding") = Dims{0}, py::arg("dilation") = Dims{1},
                  py::arg("groups") = 1, py::arg("relu") = false, Release(),
                  "[N, C, H, W] by weight [O, C / groups, kh, kw]: [N, O, H', W'].");
  define.function(
      "conv1d", convolved_1d, py::arg("input"), py::arg("weight"), py::arg("bias") = py::none(),
      py::arg("stride") = Dims{1}, py::arg("padding") = Dims{0}, py::arg("dilation") = Dims{1},
      py::arg("groups") = 1, Release(), "[N, C, L] by weight [O, C / groups, k]: [N, O, L'].");
  define.function("conv_transpose2d", conv_transposed, py::arg("input"), py::arg("weight"),
                  py::arg("bias") = py::none(), py::arg("stride") = Dims{1},
                  py::arg("padding") = Dims{0}, py::arg("output_padding") = Dims{0},
                  py::arg("groups") = 1, py::arg("dilation") = Dims{1}, Release(),
                  "The transpose of conv2d: weight [C, O / groups, kh, kw].");
}

using Pool = Tensor (*)(const Tensor&, const Pool2dOptions&);

void bind_pools(Definer& define) {
  const auto options_of = [](const Dims& kernel, const std::optional<Dims>& stride,
                             const Dims& padding, bool ceil_mode, bool count_include_pad) {
    Pool2dOptions options;
    options.kernel = pair_of(kernel);
    options.stride = pair_of(stride.value_or(kernel));
    options.padding = pair_of(padding);
    options.ceil_mode = ceil_mode;
    options.count_include_pad = count_include_pad;
    return options;
  };
  define.function(
      "max_pool2d",
      [options_of](const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                   const Dims& padding, bool ceil_mode) {
        return max_pool2d(x, options_of(kernel, stride, padding, ceil_mode, true));
      },
      py::arg("input"), py::arg("kernel_size"), py::arg("stride") = py::none(),
      py::arg("padding") = Dims{0}, py::arg("ceil_mode") = false, Release(),
      "The largest value of each window of [N, C, H, W].");
  define.function(
      "avg_pool2d",
      [options_of](const Tensor& x, const Dims& kernel, const std::optional<Dims>& stride,
                   const Dims& padding, bool ceil_mode, bool count_include_pad) {
        return avg_pool2d(x, options_of(kernel, stride, padding, ceil_mode, count_include_pad));
      },
      py::arg("input"), py::arg("kernel_size"), py::arg("stride") = py::none(),
      py::arg("padding") = Dims{0}, py::arg("ceil_mode") = false,
      py::arg("count_include_pad") = true, Release(), "The mean of each window of [N, C, H, W].");
  const auto adaptive = [&define](const char* name, Tensor (*of)(const Tensor&, const Pair&),
                                  const char* text) {
    define.function(
        name, [of](const Tensor& x, const Dims& size) { return of(x, pair_of(size)); },
        py::arg("input"), py::arg("output_size"), Release(), text);
  };
  adaptive("adaptive_avg_pool2d", &adaptive_avg_pool2d, "Means of windows that cover the image.");
  adaptive("adaptive_max_pool2d", &adaptive_max_pool2d, "Extremes of windows that cover it.");
  define.function(
      "interpolate",
      [](const Tensor& x, const Dims& size, const std::string& mode, bool align_corners) {
        if (mode != "nearest" && mode != "bilinear") {
          throw std::invalid_argument("[interpolate] expected the mode nearest or bilinear, got " +
                                      mode);
        }
        Upsample2dOptions options;
        options.size = pair_of(size);
        options.mode = mode == "nearest" ? UpsampleMode::kNearest : UpsampleMode::kBilinear;
        options.align_corners = align_corners;
        return upsample2d(x, options);
      },
      py::arg("input"), py::arg("size"), py::arg("mode") = "nearest",
      py::arg("align_corners") = false, Release(), "[N, C, H, W] at another size.");
}

Tensor batch_normed(const Tensor& x, const OptionalTensor& running_mean,
                    const OptionalTensor& running_var, const OptionalTensor& weight,
                    const OptionalTensor& bias, bool training, double momentum, double eps) {
  BatchNormOptions options;
  options.training = training;
  options.momentum = momentum;
  options.eps = eps;
  Array mean = or_none(running_mean).array();
  Array var = or_none(running_var).array();
  return batch_norm(widened(x), or_none(weight), or_none(bias), mean, var, options);
}

void check_normalized(const std::string& name, const Tensor& x, const Dims& shape) {
  const int ahead = x.ndim() - shape.size();
  bool fits = ahead >= 0 && shape.size() > 0;
  for (int i = 0; fits && i < shape.size(); ++i) fits = x.dim(ahead + i) == shape[i];
  if (fits) return;
  throw std::invalid_argument("[" + name + "] expected normalized_shape to be the last axes of " +
                              to_string(x.shape()) + ", got " + to_string(shape));
}

void bind_norms(Definer& define) {
  define.function("batch_norm", batch_normed, py::arg("input"), py::arg("running_mean"),
                  py::arg("running_var"), py::arg("weight") = py::none(),
                  py::arg("bias") = py::none(), py::arg("training") = false,
                  py::arg("momentum") = 0.1, py::arg("eps") = 1e-5, Release(),
                  "[N, C, ...] normalised by channel; in training the running statistics move.");
  define.function(
      "layer_norm",
      [](const Tensor& x, const Dims& normalized_shape, const OptionalTensor& weight,
         const OptionalTensor& bias, double eps) {
        check_normalized("layer_norm", x, normalized_shape);
        return layer_norm(widened(x), normalized_shape.size(), or_none(weight), or_none(bias), eps);
      },
      py::arg("input"), py::arg("normalized_shape"), py::arg("weight") = py::none(),
      py::arg("bias") = py::none(), py::arg("eps") = 1e-5, Release(),
      "Normalised over the last axes, which have the shape normalized_shape.");
  define.function(
      "rms_norm",
      [](const Tensor& x, const Dims& normalized_shape, const Tensor& weight, double eps) {
        check_normalized("rms_norm", x, normalized_shape);
        return rms_norm(widened(x), normalized_shape.size(), weight, eps);
      },
      py::arg("input"), py::arg("normalized_shape"), py::arg("weight"), py::arg("eps") = 1e-6,
      Release(), "x / sqrt(mean(x^2) + eps) * weight over the last axes.");
  define.function(
      "group_norm",
      [](const Tensor& x, std::int64_t num_groups, const OptionalTensor& weight,
         const OptionalTensor& bias, double eps) {
        return group_norm(widened(x), num_groups, or_none(weight), or_none(bias), eps);
      },
      py::arg("input"), py::arg("num_groups"), py::arg("weight") = py::none(),
      py::arg("bias") = py::none(), py::arg("eps") = 1e-5, Release(),
      "[N, C, ...]: each image's channels normalised in groups.");
}

void bind_activations(Definer& define) {
  define.function(
      "gelu",
      [](const Tensor& x, const std::string& approximate) {
        if (approximate != "none" && approximate != "tanh") {
          throw std::invalid_argument("[gelu] expected approximate to be none or tanh, got " +
                                      approximate);
        }
        return gelu(x, approximate == "tanh" ? GeluForm::kTanh : GeluForm::kErf);
      },
      py::arg("input"), py::arg("approximate") = "none", Release(),
      "x times the normal distribution function of x.");
  define.function("softplus", &softplus, py::arg("input"), py::arg("beta") = 1.0,
                  py::arg("threshold") = 20.0, Release(), "log(1 + e^(beta x)) / beta.");
  define.function("leaky_relu", &leaky_relu, py::arg("input"), py::arg("negative_slope") = 0.01,
                  Release(), "x, below 0 times the slope.");
  define.function("elu", &elu, py::arg("input"), py::arg("alpha") = 1.0, Release(),
                  "x, below 0 alpha (e^x - 1).");
  define.function("hardtanh", &hardtanh, py::arg("input"), py::arg("min_val") = -1.0,
                  py::arg("max_val") = 1.0, Release(), "x between two values.");
}

Tensor attended(const Tensor& q, const Tensor& k, const Tensor& v, const OptionalTensor& mask,
                bool is_causal, std::optional<double> scale) {
  AttentionOptions options;
  options.causal = is_causal;
  options.scale = scale;
  if (mask) options.mask = mask->array();
  if (q.ndim() == 4) return attention(lowered(q), lowered(k), lowered(v), options);
  if (q.ndim() != 3) {
    throw std::invalid_argument("[scaled_dot_product_attention] expected 3 or 4 axes, got " +
                                std::to_string(q.ndim()));
  }
  return squeeze(
      attended(unsqueeze(q, 1), unsqueeze(k, 1), unsqueeze(v, 1), mask, is_causal, scale), 1);
}

}  // namespace

void bind_op_nn(py::module_& module) {
  Definer define(module);
  bind_linear(define);
  bind_convolutions(define);
  bind_pools(define);
  bind_norms(define);
  bind_activations(define);
  define.function("scaled_dot_product_attention", attended, py::arg("query"), py::arg("key"),
                  py::arg("value"), py::arg("attn_mask") = py::none(), py::kw_only(),
                  py::arg("is_causal") = false, py::arg("scale") = py::none(), Release(),
                  "softmax(q k^T scale + mask) v for [B, heads, tokens, D], or without heads.");
}

}  // namespace weft::python
