// conv_transpose2d: what conv2d's gradient of its input does, as an operation; plus the bias.
//
// Dumoulin, Visin, "A guide to convolution arithmetic for deep learning", 2016, chapter 4.
#include <algorithm>

#include "weft/op/arithmetic.h"
#include "weft/op/conv.h"
#include "weft/op/conv/conv2d_gradient.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_conv_transpose2d_options(const ConvTranspose2dOptions& options) {
  check_pair("conv_transpose2d", "stride", options.stride, 1);
  check_pair("conv_transpose2d", "padding", options.padding, 0);
  check_pair("conv_transpose2d", "dilation", options.dilation, 1);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (options.output_padding[axis] < 0 || options.output_padding[axis] >= options.stride[axis]) {
      throw_operand("conv_transpose2d", "output_padding of at least 0 and below the stride",
                    std::to_string(options.output_padding[axis]));
    }
  }
  if (options.groups < 1) {
    throw_operand("conv_transpose2d", "at least 1 group", std::to_string(options.groups));
  }
}

// [N, O, H', W'].
Shape check_conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const ConvTranspose2dOptions& options) {
  check_floating("conv_transpose2d", x);
  check_floating("conv_transpose2d", weight);
  check_conv_transpose2d_options(options);
  const auto shapes = [&] { return to_string(x.shape()) + " and " + to_string(weight.shape()); };
  if (x.ndim() != 4 || weight.ndim() != 4 || x.dim(1) != weight.dim(0) || weight.size() == 0 ||
      weight.dim(0) % options.groups != 0) {
    throw_operand("conv_transpose2d", "x [N, C, H, W] and a weight [C, O / groups, kh, kw]",
                  shapes());
  }
  Shape result = {x.dim(0), weight.dim(1) * options.groups, 0, 0};
  for (int axis = 2; axis < 4; ++axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    result[axis] = (x.dim(axis) - 1) * options.stride[i] - 2 * options.padding[i] +
                   options.dilation[i] * (weight.dim(axis) - 1) + options.output_padding[i] + 1;
    if (x.dim(axis) < 1 || result[axis] < 1) {
      throw_operand("conv_transpose2d", "a result of at least one pixel", shapes());
    }
  }
  if (bias.defined() && bias.shape() != Shape{result[1]}) {
    throw_operand("conv_transpose2d", "a bias of " + to_string(Shape{result[1]}),
                  to_string(bias.shape()));
  }
  if (x.dtype() != weight.dtype() || (bias.defined() && bias.dtype() != x.dtype())) {
    throw_operand(
        "conv_transpose2d", "operands of one type",
        std::string(to_string(x.dtype())) + " and " + std::string(to_string(weight.dtype())));
  }
  return result;
}

}  // namespace

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose2dOptions& options) {
  const Shape shape = check_conv_transpose2d(x, weight, bias, options);
  if (is_half(x)) {
    return cast(conv_transpose2d(widened(x), widened(weight), widened(bias), options), x.dtype());
  }
  const Tensor y = conv2d_backward_data(
      x, weight, shape, {options.stride, options.padding, options.dilation, options.groups});
  return bias.defined() ? y + reshape(bias, {1, bias.dim(0), 1, 1}) : y;
}

// Every input value is multiplied with every tap and added where it lands.
static Array conv_transpose2d_reference(std::span<const Array> in,
                                        const ConvTranspose2dOptions& options) {
  const Array& x = in[0];
  const Array& weight = in[1];
  const auto extent = [&](int axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    return (x.dim(axis) - 1) * options.stride[i] - 2 * options.padding[i] +
           options.dilation[i] * (weight.dim(axis) - 1) + options.output_padding[i] + 1;
  };
  const std::int64_t outputs = weight.dim(1) * options.groups;
  Array y = Array::zeros({x.dim(0), outputs, extent(2), extent(3)}, DType::kF64);
  if (in.size() > 2) y.copy_from(in[2].reshape({-1, 1, 1}));
  const std::int64_t each = x.dim(1) / options.groups;
  const std::int64_t area = x.dim(2) * x.dim(3);
  const std::int64_t taps = weight.dim(2) * weight.dim(3);
  for (std::int64_t at = 0; at < x.size(); ++at) {
    const std::int64_t c = at / area % x.dim(1);
    const std::int64_t n = at / area / x.dim(1);
    for (std::int64_t t = 0; t < weight.dim(1) * taps; ++t) {
      const std::int64_t o = c / each * weight.dim(1) + t / taps;
      const std::int64_t row = at % area / x.dim(3) * options.stride[0] - options.padding[0] +
                               t % taps / weight.dim(3) * options.dilation[0];
      const std::int64_t column = at % x.dim(3) * options.stride[1] - options.padding[1] +
                                  t % weight.dim(3) * options.dilation[1];
      if (row < 0 || row >= y.dim(2) || column < 0 || column >= y.dim(3)) continue;
      y.data<double>()[((n * outputs + o) * y.dim(2) + row) * y.dim(3) + column] +=
          x.data<double>()[at] * weight.data<double>()[c * weight.dim(1) * taps + t];
    }
  }
  return y;
}

static OpSample conv_transpose2d_sample(const char* name, std::vector<Array> inputs,
                                        const ConvTranspose2dOptions& options) {
  return {name, std::move(inputs),
          [options](std::span<const Tensor> in) {
            return conv_transpose2d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options);
          },
          [options](std::span<const Array> in) { return conv_transpose2d_reference(in, options); },
          2e-5};
}

static std::vector<OpSample> conv_transpose2d_samples() {
  const auto values = [](const Shape& shape, std::uint64_t seed) {
    return sample_values(shape, seed);
  };
  return {
      conv_transpose2d_sample(
          "3x3", {values({2, 3, 4, 5}, 1), values({3, 2, 3, 3}, 2), values({2}, 3)}, {}),
      conv_transpose2d_sample("doubled", {values({1, 2, 3, 4}, 4), values({2, 3, 2, 2}, 5)},
                              {.stride = {2, 2}}),
      conv_transpose2d_sample("output padding",
                              {values({1, 2, 4, 3}, 6), values({2, 2, 3, 3}, 7), values({2}, 8)},
                              {.stride = {3, 2}, .padding = {1, 1}, .output_padding = {2, 1}}),
      conv_transpose2d_sample("groups, dilation",
                              {values({2, 4, 3, 4}, 9), values({4, 3, 2, 3}, 10), values({6}, 11)},
                              {.padding = {1, 0}, .dilation = {2, 1}, .groups = 2}),
      conv_transpose2d_sample("8 channels", {values({1, 8, 5, 4}, 12), values({8, 8, 3, 3}, 13)},
                              {.padding = {1, 1}}),
      conv_transpose2d_sample("one pixel", {values({1, 1, 1, 1}, 14), values({1, 1, 1, 1}, 15)},
                              {}),
      conv_transpose2d_sample(
          "no images", {values({0, 2, 3, 3}, 16), values({2, 2, 2, 2}, 17), values({2}, 18)}, {}),
  };
}
extern const OpDef conv_transpose2d_op = {"conv_transpose2d", conv_transpose2d_samples};

}  // namespace weft
