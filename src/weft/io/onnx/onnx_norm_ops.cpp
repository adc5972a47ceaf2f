// Operators that normalise.
#include <numeric>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;
using Integers = std::vector<std::int64_t>;

// A vector of channels beside an image [N, C, ...].
Tensor by_channel(const Tensor& vector, int ndim) {
  Integers shape(static_cast<std::size_t>(ndim), 1);
  shape[1] = vector.size();
  return reshape(vector, Shape(std::span<const std::int64_t>(shape)));
}

std::vector<int> all_but_channels(int ndim) {
  std::vector<int> axes = {0};
  for (int i = 2; i < ndim; ++i) axes.push_back(i);
  return axes;
}

Tensors batch_normalization(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  if (x.ndim() < 2) call.fail("[N, C, ...]", to_string(x.shape()));
  const double eps = call.number("epsilon", 1e-5);
  if (call.integer("training_mode", 0) == 0) {
    Array running_mean = call.in(3).array();
    Array running_var = call.in(4).array();
    return {batch_norm(x, call.in(1), call.in(2), running_mean, running_var, {.eps = eps})};
  }
  const double momentum = call.number("momentum", 0.9);
  const std::vector<int> axes = all_but_channels(x.ndim());
  const Tensor mean_now = mean(x, axes);
  const Tensor var_now = var(x, axes, false);
  const auto moved = [&](const Tensor& old, const Tensor& now) {
    return mul(old, momentum) + mul(now, 1.0 - momentum);
  };
  const Tensor centered = x - by_channel(mean_now, x.ndim());
  const Tensor normal = mul(centered, rsqrt(by_channel(var_now, x.ndim()) + eps));
  return {mul(normal, by_channel(call.in(1), x.ndim())) + by_channel(call.in(2), x.ndim()),
          moved(call.in(3), mean_now), moved(call.in(4), var_now)};
}

Tensors instance_normalization(const OnnxCall& call) {
  return {instance_norm(call.in(0), call.in(1), call.in(2), call.number("epsilon", 1e-5))};
}

Tensors group_normalization(const OnnxCall& call) {
  const std::int64_t groups = call.required("num_groups", OnnxAttributeKind::kInteger).integer;
  if (call.in(1).size() != call.in(0).dim(1)) {
    call.fail("a scale for each channel (version 21)", to_string(call.in(1).shape()));
  }
  return {group_norm(call.in(0), groups, call.in(1), call.in(2), call.number("epsilon", 1e-5))};
}

Tensors layer_normalization(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", -1), x.ndim());
  const double eps = call.number("epsilon", 1e-5);
  const int count = x.ndim() - axis;
  const Shape inner(std::span<const std::int64_t>(x.shape().begin() + axis, x.shape().end()));
  const auto whole = [&](const Tensor& part) {
    return part.defined() ? reshape(expand(part, inner), inner) : part;
  };
  const Tensor y = layer_norm(x, count, whole(call.in(1)), whole(call.optional_in(2)), eps);
  if (!call.wants(1) && !call.wants(2)) return {y};
  std::vector<int> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), axis);
  return {y, mean(x, axes, true), rsqrt(var(x, axes, false, true) + eps)};
}

Tensors mean_variance(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const auto axes = call.axes_of("axes", -1, x.ndim()).value_or(all_but_channels(x.ndim()));
  const Tensor centered = x - mean(x, axes, true);
  return {div(centered, sqrt(var(x, axes, false, true)) + 1e-9)};
}

// x / (bias + alpha / size * sum of squares over `size` channels around each)^beta.
Tensors local_response(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t size = call.required("size", OnnxAttributeKind::kInteger).integer;
  if (x.ndim() < 2 || size < 1 || size > 4096)
    call.fail("[N, C, ...] and a size from 1 on", "others");
  std::vector<AxisPadding> around(static_cast<std::size_t>(x.ndim()));
  around[1] = {(size - 1) / 2, size - 1 - (size - 1) / 2};
  const Tensor squares = pad(square(x), around);
  Tensor total;
  for (std::int64_t i = 0; i < size; ++i) {
    const Tensor shifted = slice(squares, 1, i, i + x.dim(1));
    total = total.defined() ? total + shifted : shifted;
  }
  const double scale = call.number("alpha", 1e-4) / static_cast<double>(size);
  return {div(x, pow(mul(total, scale) + call.number("bias", 1.0), call.number("beta", 0.75)))};
}

Tensors lp_normalization(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const int axis = call.axis(call.integer("axis", -1), x.ndim());
  const auto p = static_cast<double>(call.integer("p", 2));
  return {div(x, norm(x, p, {axis}, true))};
}

constexpr OnnxOperator kNormOps[] = {
    {"BatchNormalization", batch_normalization},       {"GroupNormalization", group_normalization},
    {"InstanceNormalization", instance_normalization}, {"LRN", local_response},
    {"LayerNormalization", layer_normalization},       {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance},
};

}  // namespace

std::span<const OnnxOperator> onnx_norm_ops() { return kNormOps; }

}  // namespace weft
