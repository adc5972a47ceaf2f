#include "weft/nn/norm.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "weft/nn/layer/sizes.h"
#include "weft/op/norm.h"

namespace weft {
namespace {

void require_sizes(const char* layer, const Shape& normalized) {
  if (normalized.empty()) {
    throw std::invalid_argument(fmt::format("[{}] expected at least one axis, got none", layer));
  }
  for (const std::int64_t size : normalized) require_positive(layer, {{"sizes", size}});
}

// Throws unless the last axes of `shape` are those that the layer was made for.
void require_last(const char* layer, const Shape& shape, const Shape& normalized) {
  const int first = shape.size() - normalized.size();
  if (first >= 0 && std::equal(normalized.begin(), normalized.end(), shape.begin() + first)) return;
  throw std::invalid_argument(fmt::format("[{}] expected an input whose shape ends in {}, got {}",
                                          layer, to_string(normalized), to_string(shape)));
}

}  // namespace

BatchNorm::BatchNorm(const BatchNormShape& shape, int ndim_min, int ndim_max, const char* name)
    : shape_(shape), ndim_min_(ndim_min), ndim_max_(ndim_max), name_(name) {
  require_positive(name, {{"channels", shape.channels}});
  const Shape channels = {shape.channels};
  register_parameter("weight", weight_, channels, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, channels, ParameterKind::kBias, constant_initializer(0));
  register_buffer("running_mean", running_mean_, channels, 0.0);
  register_buffer("running_var", running_var_, channels, 1.0);
}

Tensor BatchNorm::normalize(const Tensor& x, bool relu) {
  if (x.ndim() < ndim_min_ || x.ndim() > ndim_max_) {
    throw std::invalid_argument(fmt::format("[{}] expected {} to {} dimensions, got {}", name_,
                                            ndim_min_, ndim_max_, to_string(x.shape())));
  }
  return batch_norm(x, weight_, bias_, running_mean_, running_var_,
                    {.training = is_training(),
                     .momentum = shape_.momentum,
                     .eps = shape_.eps,
                     .activation = relu ? Activation::kRelu : Activation::kNone});
}

Tensor BatchNorm::forward(const Tensor& x) { return normalize(x, false); }
Tensor BatchNorm::forward_relu(const Tensor& x) { return normalize(x, true); }

LayerNorm::LayerNorm(const Shape& normalized, const NormOptions& options)
    : normalized_(normalized), eps_(options.eps) {
  require_sizes("layer_norm", normalized);
  if (!options.affine) return;
  register_parameter("weight", weight_, normalized, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, normalized, ParameterKind::kBias, constant_initializer(0));
}

Tensor LayerNorm::forward(const Tensor& x) {
  require_last("layer_norm", x.shape(), normalized_);
  return layer_norm(x, normalized_.size(), weight_, bias_, eps_);
}

RMSNorm::RMSNorm(const Shape& normalized, double eps) : normalized_(normalized), eps_(eps) {
  require_sizes("rms_norm", normalized);
  register_parameter("weight", weight_, normalized, ParameterKind::kNorm, constant_initializer(1));
}

Tensor RMSNorm::forward(const Tensor& x) {
  require_last("rms_norm", x.shape(), normalized_);
  return rms_norm(x, normalized_.size(), weight_, eps_);
}

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, const NormOptions& options)
    : groups_(groups), eps_(options.eps) {
  require_groups("group_norm", groups, channels, channels);
  if (!options.affine) return;
  register_parameter("weight", weight_, {channels}, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, {channels}, ParameterKind::kBias, constant_initializer(0));
}

Tensor GroupNorm::forward(const Tensor& x) { return group_norm(x, groups_, weight_, bias_, eps_); }

InstanceNorm::InstanceNorm(std::int64_t channels, const NormOptions& options) : eps_(options.eps) {
  require_positive("instance_norm", {{"channels", channels}});
  if (!options.affine) return;
  register_parameter("weight", weight_, {channels}, ParameterKind::kNorm, constant_initializer(1));
  register_parameter("bias", bias_, {channels}, ParameterKind::kBias, constant_initializer(0));
}

Tensor InstanceNorm::forward(const Tensor& x) { return instance_norm(x, weight_, bias_, eps_); }

}  // namespace weft
