// conv_transpose1d: conv_transpose2d over an image of one row.
#include "weft/op/conv.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

Tensor conv_transpose1d_operand(const char* what, const Tensor& x) {
  if (!x.defined() || x.ndim() != 3) {
    throw_operand("conv_transpose1d", std::string(what) + " of 3 dimensions",
                  x.defined() ? to_string(x.shape()) : "none");
  }
  return reshape(x, {x.dim(0), x.dim(1), 1, x.dim(2)});
}

}  // namespace

Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTranspose1dOptions& options) {
  const Tensor y =
      conv_transpose2d(conv_transpose1d_operand("x [N, C, L]", x),
                       conv_transpose1d_operand("a weight [C, O / groups, k]", weight), bias,
                       {.stride = {1, options.stride},
                        .padding = {0, options.padding},
                        .output_padding = {0, options.output_padding},
                        .dilation = {1, options.dilation},
                        .groups = options.groups});
  return reshape(y, {y.dim(0), y.dim(1), y.dim(3)});
}

static Array conv_transpose1d_reference(std::span<const Array> in,
                                        const ConvTranspose1dOptions& options) {
  const Array& x = in[0];
  const Array& weight = in[1];
  const std::int64_t length = (x.dim(2) - 1) * options.stride - 2 * options.padding +
                              options.dilation * (weight.dim(2) - 1) + options.output_padding + 1;
  const std::int64_t outputs = weight.dim(1) * options.groups;
  const std::int64_t each = x.dim(1) / options.groups;
  Array y = Array::zeros({x.dim(0), outputs, length}, DType::kF64);
  if (in.size() > 2) y.copy_from(in[2].reshape({-1, 1}));
  for (std::int64_t at = 0; at < x.size(); ++at) {
    const std::int64_t c = at / x.dim(2) % x.dim(1);
    const std::int64_t n = at / x.dim(2) / x.dim(1);
    for (std::int64_t t = 0; t < weight.dim(1) * weight.dim(2); ++t) {
      const std::int64_t o = c / each * weight.dim(1) + t / weight.dim(2);
      const std::int64_t place =
          at % x.dim(2) * options.stride - options.padding + t % weight.dim(2) * options.dilation;
      if (place < 0 || place >= length) continue;
      y.data<double>()[(n * outputs + o) * length + place] +=
          x.data<double>()[at] * weight.data<double>()[c * weight.dim(1) * weight.dim(2) + t];
    }
  }
  return y;
}

static OpSample conv_transpose1d_sample(const char* name, std::vector<Array> inputs,
                                        const ConvTranspose1dOptions& options) {
  return {name, std::move(inputs),
          [options](std::span<const Tensor> in) {
            return conv_transpose1d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options);
          },
          [options](std::span<const Array> in) { return conv_transpose1d_reference(in, options); },
          2e-5};
}

static std::vector<OpSample> conv_transpose1d_samples() {
  const auto values = [](const Shape& shape, std::uint64_t seed) {
    return sample_values(shape, seed);
  };
  return {conv_transpose1d_sample("window of 3",
                                  {values({2, 3, 5}, 1), values({3, 2, 3}, 2), values({2}, 3)}, {}),
          conv_transpose1d_sample("stride, paddings", {values({1, 2, 4}, 4), values({2, 3, 4}, 5)},
                                  {.stride = 3, .padding = 1, .output_padding = 2}),
          conv_transpose1d_sample("groups, dilation",
                                  {values({2, 4, 5}, 6), values({4, 2, 3}, 7), values({4}, 8)},
                                  {.dilation = 2, .groups = 2}),
          conv_transpose1d_sample("one value", {values({1, 1, 1}, 9), values({1, 1, 1}, 10)}, {}),
          conv_transpose1d_sample(
              "no rows", {values({0, 2, 5}, 11), values({2, 3, 2}, 12), values({3}, 13)}, {})};
}
extern const OpDef conv_transpose1d_op = {"conv_transpose1d", conv_transpose1d_samples};

}  // namespace weft
