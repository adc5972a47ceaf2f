// layer_norm: x normalised over its last axes, then scaled and shifted.
//
// IMPLEMENTATION: Ba, Kiros, Hinton, "Layer normalization", 2016, equation 4, with eps under the
// root as PyTorch has it.
#include <cmath>

#include "weft/kernel/elementwise.h"
#include "weft/kernel/normalize.h"
#include "weft/op/norm.h"
#include "weft/op/operands.h"
#include "weft/op/sample.h"

namespace weft {
namespace {

void check(const Tensor& x, int axes, const Tensor& weight, const Tensor& bias) {
  check_floating("layer_norm", x);
  if (axes < 1 || axes > x.ndim()) {
    throw_operand("layer_norm", "between 1 and " + std::to_string(x.ndim()) + " axes",
                  std::to_string(axes));
  }
  const Shape inner(std::span<const std::int64_t>(x.shape().end() - axes, x.shape().end()));
  for (const Tensor* vector : {&weight, &bias}) {
    if (!vector->defined()) continue;
    if (vector->shape() == inner && vector->dtype() == x.dtype()) continue;
    throw_operand("layer_norm",
                  "weight and bias of shape " + to_string(inner) + " and type " +
                      std::string(to_string(x.dtype())),
                  to_string(vector->shape()) + " " + std::string(to_string(vector->dtype())));
  }
}

}  // namespace

Tensor layer_norm(const Tensor& x, int axes, const Tensor& weight, const Tensor& bias, double eps) {
  check(x, axes, weight, bias);
  const AxisMask outer = (AxisMask{1} << (x.ndim() - axes)) - 1;
  const AxisMask inner = ((AxisMask{1} << x.ndim()) - 1) & ~outer;
  Normalized normalized = normalize(x.array(), inner, eps);
  const Array scale = weight.array();
  Array y = normalized.values;
  if (weight.defined()) y = binary(BinaryOp::kMul, y, scale);
  if (bias.defined()) y = binary(BinaryOp::kAdd, y, bias.array());
  return record(
      "layer_norm", std::move(y), {&x, &weight, &bias},
      [normalized = std::move(normalized), scale, inner, outer](const Array& dy,
                                                                const InputGradients& dx) {
        const Array g = dy.strided();
        if (dx.needs(1)) {
          dx.add(1, reduce(ReduceOp::kSum, binary(BinaryOp::kMul, g, normalized.values), outer,
                           false));
        }
        if (dx.needs(2)) dx.add(2, reduce(ReduceOp::kSum, g, outer, false));
        if (!dx.needs(0)) return;
        const Array values = scale.defined() ? binary(BinaryOp::kMul, g, scale) : g;
        dx.add(0, normalize_gradient(values, normalized, inner, normalized.inverse_deviation).x);
      });
}

static Array reference(std::span<const Array> in, int axes) {
  const Array& x = in[0];
  Array y = Array::empty(x.shape(), DType::kF64);
  std::int64_t count = 1;
  for (int axis = x.ndim() - axes; axis < x.ndim(); ++axis) count *= x.dim(axis);
  for (std::int64_t begin = 0; begin < x.size(); begin += count) {
    const double* const row = x.data<double>() + begin;
    double mean = 0;
    double variance = 0;
    for (std::int64_t i = 0; i < count; ++i) mean += row[i] / static_cast<double>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      double out = (row[i] - mean) / std::sqrt(variance + 1e-5);
      if (in.size() > 1) out = out * in[1].data<double>()[i] + in[2].data<double>()[i];
      y.data<double>()[begin + i] = out;
    }
  }
  return y;
}

static std::vector<OpSample> samples() {
  const auto sample = [](const char* name, const Shape& shape, int axes, bool affine) {
    std::vector<Array> inputs = {sample_values(shape, 64, -2.0, 3.0)};
    if (affine) {
      const Shape inner(std::span<const std::int64_t>(shape.end() - axes, shape.end()));
      inputs.push_back(sample_values(inner, 65, 0.5, 1.5));
      inputs.push_back(sample_values(inner, 66));
    }
    return OpSample{name, std::move(inputs),
                    [axes](std::span<const Tensor> in) {
                      const Tensor none;
                      const bool scaled = in.size() > 1;
                      return layer_norm(in[0], axes, scaled ? in[1] : none, scaled ? in[2] : none);
                    },
                    [axes](std::span<const Array> in) { return reference(in, axes); }};
  };
  return {sample("one axis", {3, 7}, 1, true),    sample("two axes", {2, 3, 5}, 2, true),
          sample("no weight", {4, 6}, 1, false),  sample("all axes", {5}, 1, true),
          sample("one element", {1, 1}, 1, true), sample("no rows", {0, 4}, 1, true)};
}
extern const OpDef layer_norm_op = {"layer_norm", samples};

}  // namespace weft
