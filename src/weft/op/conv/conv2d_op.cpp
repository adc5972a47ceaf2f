// conv2d: y = x * weight + bias, then the activation; the gradients are the two other products
// of the same three arrays.
#include <algorithm>

#include "weft/autograd/op_trace.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/elementwise/convert.h"
#include "weft/kernel/gemm/linear.h"
#include "weft/op/conv.h"
#include "weft/op/conv/conv2d_gradient.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"

namespace weft {
namespace {

void check_conv2d_options(const Conv2dOptions& options) {
  check_pair("conv2d", "stride", options.stride, 1);
  check_pair("conv2d", "padding", options.padding, 0);
  check_pair("conv2d", "dilation", options.dilation, 1);
  if (options.groups < 1) {
    throw_operand("conv2d", "at least 1 group", std::to_string(options.groups));
  }
}

void check_conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const Conv2dOptions& options) {
  check_floating("conv2d", x);
  check_floating("conv2d", weight);
  check_conv2d_options(options);
  const auto shapes = [&] { return to_string(x.shape()) + " and " + to_string(weight.shape()); };
  if (x.ndim() != 4 || weight.ndim() != 4 || x.dim(1) != weight.dim(1) * options.groups ||
      weight.size() == 0 || weight.dim(0) % options.groups != 0) {
    throw_operand("conv2d", "x [N, C, H, W] and a weight [O, C / groups, kh, kw]", shapes());
  }
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t reach = options.dilation[i] * (weight.dim(2 + axis) - 1) + 1;
    if (reach > x.dim(2 + axis) + 2 * options.padding[i]) {
      throw_operand("conv2d", "a window no larger than the padded image", shapes());
    }
  }
  if (bias.defined() && bias.shape() != Shape{weight.dim(0)}) {
    throw_operand("conv2d", "a bias of " + to_string(Shape{weight.dim(0)}),
                  to_string(bias.shape()));
  }
  if (x.dtype() != weight.dtype() || (bias.defined() && bias.dtype() != x.dtype())) {
    throw_operand(
        "conv2d", "operands of one type",
        std::string(to_string(x.dtype())) + " and " + std::string(to_string(weight.dtype())));
  }
}

void run_conv2d_backward(const Conv2dSaved& saved, const Array& dy, const InputGradients& dx) {
  Conv2dWeightGradients out;
  GradientTarget weight;
  GradientTarget bias;
  if (dx.needs(1) || dx.needs(2)) {
    // Both come from one pass; what is not wanted goes to memory of its own.
    weight = dx.needs(1)
                 ? dx.target(1)
                 : GradientTarget{Array::empty(saved.weight.shape(), dy.dtype(), dy.device())};
    out.weight = &weight.array;
    out.accumulate_weight = weight.accumulate;
  }
  if (dx.needs(2)) {
    bias = dx.target(2);
    out.bias = &bias.array;
    out.accumulate_bias = bias.accumulate;
  }
  Array gradient = conv2d_backward(dy, saved, out, dx.needs(0));
  if (dx.needs(0)) dx.add(0, std::move(gradient));
}

// The gradients of weights are summed in f32 and rounded once.
void run_half_backward(const Conv2dSaved& saved, const Array& dy, const InputGradients& dx) {
  Array weight;
  Array bias;
  Conv2dWeightGradients out;
  if (dx.needs(1) || dx.needs(2)) {
    weight = Array::empty(saved.weight.shape(), DType::kF32, dy.device());
    out.weight = &weight;
  }
  if (dx.needs(2)) {
    bias = Array::empty({saved.weight.dim(0)}, DType::kF32, dy.device());
    out.bias = &bias;
  }
  Array gradient = conv2d_backward(dy, saved, out, dx.needs(0));
  if (dx.needs(0)) dx.add(0, std::move(gradient));
  if (dx.needs(1)) dx.add(1, convert(weight, dy.dtype()));
  if (dx.needs(2)) dx.add(2, convert(bias, dy.dtype()));
}

void run_conv2d_tensors(const Conv2dSaved& saved, const Tensor& dy, const TensorGradients& dx) {
  const DType type = dy.dtype();
  Tensor g = widened(dy);
  if (saved.y.defined()) {
    const auto mask = [y = convert(saved.y, g.dtype())](const Array& a) {
      return relu_backward(a, y);
    };
    g = linear_map("relu_gradient", g, mask, mask);
  }
  if (dx.needs(0)) {
    const Tensor weight = widened(dx.input(1, saved.weight));
    dx.add(0, cast(conv2d_backward_data(g, weight, saved.x.shape(), saved.geometry), type));
  }
  if (dx.needs(1)) {
    const Tensor x = widened(dx.input(0, saved.x));
    dx.add(1, cast(conv2d_backward_weight(g, x, saved.weight.shape(), saved.geometry), type));
  }
  if (dx.needs(2)) dx.add(2, cast(sum(g, {0, 2, 3}), type));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dOptions& options) {
  check_conv2d(x, weight, bias, options);
  const Conv2dGeometry geometry{options.stride, options.padding, options.dilation, options.groups};
  const bool relu = options.activation == Activation::kRelu;
  Array y = conv2d_forward(x.array(), weight.array(), bias.array(), geometry, relu);
  if (op_tracing()) {
    trace_attributes("conv2d", {{"stride", traced(options.stride)},
                                {"padding", traced(options.padding)},
                                {"dilation", traced(options.dilation)},
                                {"groups", {static_cast<double>(options.groups)}},
                                {"relu", {relu ? 1.0 : 0.0}}});
  }
  return record(
      "conv2d", y, {&x, &weight, &bias},
      [saved = Conv2dSaved{x.array(), weight.array(), relu ? y : Array(), geometry}](
          const Array& dy, const InputGradients& dx) {
        (dy.dtype() == DType::kBF16 || dy.dtype() == DType::kF16)
            ? run_half_backward(saved, dy, dx)
            : run_conv2d_backward(saved, dy, dx);
      },
      [saved = Conv2dSaved{x.array(), weight.array(), relu ? y : Array(), geometry}](
          const Tensor& dy, const TensorGradients& dx) { run_conv2d_tensors(saved, dy, dx); });
}

// The sum of products of one filter [C, kh, kw] with the window of an image [C, H, W] at `corner`.
static double window_sum(const Array& image, const Array& filter, const Pair& corner,
                         const Pair& dilation) {
  double sum = 0;
  for (std::int64_t t = 0; t < filter.size(); ++t) {
    const std::int64_t q = t % filter.dim(2);
    const std::int64_t p = t / filter.dim(2) % filter.dim(1);
    const std::int64_t c = t / filter.dim(2) / filter.dim(1);
    sum += filter.data<double>()[t] *
           image.data<double>()[c * image.strides()[0] +
                                (corner[0] + p * dilation[0]) * image.strides()[1] + corner[1] +
                                q * dilation[1]];
  }
  return sum;
}

// The padded image first, then every window over it.
static Array conv2d_reference(std::span<const Array> in, const Conv2dOptions& options) {
  const Array& weight = in[1];
  const Shape& shape = in[0].shape();
  const auto [top, left] = options.padding;
  Array padded =
      Array::zeros({shape[0], shape[1], shape[2] + 2 * top, shape[3] + 2 * left}, DType::kF64);
  padded.slice(2, top, top + shape[2]).slice(3, left, left + shape[3]).copy_from(in[0]);
  const auto outputs = [&](int axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    const std::int64_t reach = options.dilation[i] * (weight.dim(axis) - 1);
    return (padded.dim(axis) - reach - 1) / options.stride[i] + 1;
  };
  Array y = Array::empty({shape[0], weight.dim(0), outputs(2), outputs(3)}, DType::kF64);
  const std::int64_t each = weight.dim(0) / options.groups;
  const std::int64_t area = y.dim(2) * y.dim(3);
  for (std::int64_t plane = 0; plane < y.dim(0) * y.dim(1); ++plane) {
    const std::int64_t o = plane % y.dim(1);
    const std::int64_t first = o / each * weight.dim(1);
    const Array image = padded.select(0, plane / y.dim(1)).slice(0, first, first + weight.dim(1));
    const double bias = in.size() > 2 ? in[2].data<double>()[o] : 0.0;
    for (std::int64_t i = 0; i < area; ++i) {
      const double value =
          bias + window_sum(image, weight.select(0, o),
                            {i / y.dim(3) * options.stride[0], i % y.dim(3) * options.stride[1]},
                            options.dilation);
      y.data<double>()[plane * area + i] =
          options.activation == Activation::kRelu ? std::max(value, 0.0) : value;
    }
  }
  return y;
}

static OpSample conv2d_sample(const char* name, std::vector<Array> inputs,
                              const Conv2dOptions& options) {
  return {name, std::move(inputs),
          [options](std::span<const Tensor> in) {
            return conv2d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options);
          },
          [options](std::span<const Array> in) { return conv2d_reference(in, options); }, 2e-5};
}

static std::vector<OpSample> conv2d_samples() {
  const auto values = [](const Shape& shape, std::uint64_t seed) {
    return sample_values(shape, seed);
  };
  return {
      conv2d_sample("3x3 over 1 channel",
                    {values({2, 1, 6, 5}, 1), values({3, 1, 3, 3}, 2), values({3}, 3)}, {}),
      conv2d_sample("8 channels, relu",
                    {values({2, 8, 5, 5}, 4), values({8, 8, 3, 3}, 5), values({8}, 6)},
                    {.padding = {1, 1}, .activation = Activation::kRelu}),
      conv2d_sample("no bias, odd channels", {values({1, 5, 4, 7}, 7), values({7, 5, 2, 3}, 8)},
                    {}),
      conv2d_sample("stride 2, padded on one axis",
                    {values({2, 3, 7, 9}, 9), values({4, 3, 3, 2}, 10), values({4}, 11)},
                    {.stride = {2, 3}, .padding = {1, 0}}),
      conv2d_sample("dilation",
                    {values({1, 2, 8, 9}, 12), values({2, 2, 3, 2}, 13), values({2}, 14)},
                    {.padding = {2, 1}, .dilation = {2, 3}}),
      conv2d_sample("groups", {values({2, 6, 4, 4}, 15), values({4, 3, 2, 2}, 16), values({4}, 17)},
                    {.groups = 2}),
      conv2d_sample("one channel each", {values({1, 4, 4, 4}, 18), values({4, 1, 3, 3}, 19)},
                    {.padding = {1, 1}, .groups = 4}),
      conv2d_sample("1x1", {values({1, 1, 1, 1}, 20), values({1, 1, 1, 1}, 21), values({1}, 22)},
                    {}),
      conv2d_sample("no images",
                    {values({0, 2, 4, 4}, 23), values({3, 2, 3, 3}, 24), values({3}, 25)}, {}),
  };
}
extern const OpDef conv2d_op = {"conv2d", conv2d_samples};

}  // namespace weft
