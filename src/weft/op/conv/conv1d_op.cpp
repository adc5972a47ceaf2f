// conv1d: conv2d over an image of one row.
#include <algorithm>

#include "weft/op/conv.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

Tensor conv1d_operand(const char* what, const Tensor& x) {
  if (!x.defined() || x.ndim() != 3) {
    throw_operand("conv1d", std::string(what) + " of 3 dimensions",
                  x.defined() ? to_string(x.shape()) : "none");
  }
  return reshape(x, {x.dim(0), x.dim(1), 1, x.dim(2)});
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv1dOptions& options) {
  const Tensor y = conv2d(conv1d_operand("x [N, C, L]", x),
                          conv1d_operand("a weight [O, C / groups, k]", weight), bias,
                          {.stride = {1, options.stride},
                           .padding = {0, options.padding},
                           .dilation = {1, options.dilation},
                           .groups = options.groups,
                           .activation = options.activation});
  return reshape(y, {y.dim(0), y.dim(1), y.dim(3)});
}

static Array conv1d_reference(std::span<const Array> in, const Conv1dOptions& options) {
  const Array& x = in[0];
  const Array& weight = in[1];
  const std::int64_t reach = options.dilation * (weight.dim(2) - 1) + 1;
  const std::int64_t length = (x.dim(2) + 2 * options.padding - reach) / options.stride + 1;
  Array y = Array::empty({x.dim(0), weight.dim(0), length}, DType::kF64);
  const std::int64_t each = weight.dim(0) / options.groups;
  for (std::int64_t at = 0; at < y.size(); ++at) {
    const std::int64_t o = at / length % weight.dim(0);
    const std::int64_t n = at / length / weight.dim(0);
    double sum = in.size() > 2 ? in[2].data<double>()[o] : 0.0;
    for (std::int64_t t = 0; t < weight.dim(1) * weight.dim(2); ++t) {
      const std::int64_t c = o / each * weight.dim(1) + t / weight.dim(2);
      const std::int64_t place =
          at % length * options.stride - options.padding + t % weight.dim(2) * options.dilation;
      if (place < 0 || place >= x.dim(2)) continue;
      sum += weight.data<double>()[o * weight.dim(1) * weight.dim(2) + t] *
             x.data<double>()[(n * x.dim(1) + c) * x.dim(2) + place];
    }
    y.data<double>()[at] = options.activation == Activation::kRelu ? std::max(sum, 0.0) : sum;
  }
  return y;
}

static OpSample conv1d_sample(const char* name, std::vector<Array> inputs,
                              const Conv1dOptions& options) {
  return {name, std::move(inputs),
          [options](std::span<const Tensor> in) {
            return conv1d(in[0], in[1], in.size() > 2 ? in[2] : Tensor(), options);
          },
          [options](std::span<const Array> in) { return conv1d_reference(in, options); }, 2e-5};
}

static std::vector<OpSample> conv1d_samples() {
  const auto values = [](const Shape& shape, std::uint64_t seed) {
    return sample_values(shape, seed);
  };
  return {conv1d_sample("window of 3", {values({2, 3, 9}, 1), values({4, 3, 3}, 2), values({4}, 3)},
                        {}),
          conv1d_sample("stride, padding, relu",
                        {values({1, 2, 10}, 4), values({3, 2, 4}, 5), values({3}, 6)},
                        {.stride = 3, .padding = 2, .activation = Activation::kRelu}),
          conv1d_sample("groups, dilation", {values({2, 4, 11}, 7), values({6, 2, 3}, 8)},
                        {.dilation = 2, .groups = 2}),
          conv1d_sample("one value", {values({1, 1, 1}, 9), values({1, 1, 1}, 10)}, {}),
          conv1d_sample("no rows", {values({0, 2, 5}, 11), values({3, 2, 2}, 12), values({3}, 13)},
                        {})};
}
extern const OpDef conv1d_op = {"conv1d", conv1d_samples};

}  // namespace weft
