// group_norm: each image's channels, in groups, normalised together, then scaled and shifted by
// channel. instance_norm is the case of one channel a group.
//
// IMPLEMENTATION: Wu, He, "Group normalization", ECCV 2018, equations 1 to 7.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/norm/norm.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/half_operand.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/norm.h"
#include "weft/op/norm/normalizing.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

void check_group_norm(const char* op, const Tensor& x, std::int64_t groups, const Tensor& weight,
                      const Tensor& bias) {
  check_floating(op, x);
  if (x.ndim() < 2) throw_operand(op, "x of shape [N, C, ...]", to_string(x.shape()));
  if (groups < 1 || x.dim(1) % groups != 0) {
    throw_operand(op, "groups that divide the channels of " + to_string(x.shape()),
                  std::to_string(groups));
  }
  for (const Tensor* vector : {&weight, &bias}) {
    if (!vector->defined()) continue;
    if (vector->shape() == Shape{x.dim(1)} && vector->dtype() == x.dtype()) continue;
    throw_operand(op,
                  "weight and bias of shape [" + std::to_string(x.dim(1)) + "] and type " +
                      std::string(to_string(x.dtype())),
                  to_string(vector->shape()) + " " + std::string(to_string(vector->dtype())));
  }
}

struct GroupNormSaved {
  Array x;
  Array weight;
  GroupNormed statistics;
  std::int64_t groups;
  double eps;
};

void run_group_norm_backward(const GroupNormSaved& saved, const Array& dy,
                             const InputGradients& dx) {
  NormGradients gradients =
      group_norm_backward(dy, saved.x, saved.weight, saved.statistics, saved.groups);
  if (dx.needs(0)) dx.add(0, std::move(gradients.x));
  if (dx.needs(1)) dx.add(1, std::move(gradients.weight));
  if (dx.needs(2)) dx.add(2, std::move(gradients.bias));
}

// Views [N, C, ...] as [N, groups, channels of a group, pixels].
void run_group_norm_tensor_backward(const GroupNormSaved& saved, const Tensor& given_dy,
                                    const TensorGradients& dx) {
  const Tensor given = dx.input(0, saved.x);
  const std::int64_t each = given.dim(1) / saved.groups;
  const std::int64_t pixels = given.size() / std::max<std::int64_t>(1, given.dim(0) * given.dim(1));
  const Shape split = {given.dim(0), saved.groups, each, pixels};
  const Tensor x = reshape(given, split);
  const Tensor dy = reshape(given_dy, split);
  const NormalizedTensors normal = normalize_tensors(x, {2, 3}, saved.eps, true);
  const Shape channels = {given.dim(1)};
  if (dx.needs(1)) dx.add(1, reshape(sum(dy * normal.values, {0, 3}), channels));
  if (dx.needs(2)) dx.add(2, reshape(sum(dy, {0, 3}), channels));
  if (!dx.needs(0)) return;
  Tensor g = dy;
  if (saved.weight.defined()) {
    g = dy * reshape(dx.input(1, saved.weight), {1, saved.groups, each, 1});
  }
  dx.add(0, reshape(normalize_tensors_gradient(g, normal, {2, 3}, true), given.shape()));
}

Tensor apply_group_norm(const char* op, const Tensor& x, std::int64_t groups, const Tensor& weight,
                        const Tensor& bias, double eps) {
  check_group_norm(op, x, groups, weight, bias);
  if (is_half(x)) {
    return cast(apply_group_norm(op, widened(x), groups, widened(weight), widened(bias), eps),
                x.dtype());
  }
  GroupNormSaved saved{x.array(), weight.array(), {}, groups, eps};
  saved.statistics = group_norm_forward(saved.x, saved.weight, bias.array(), groups, eps);
  Array y = std::move(saved.statistics.y);
  saved.statistics.y = Array();
  if (op_tracing()) {
    trace_attributes(op, {{"groups", {static_cast<double>(groups)}}, {"eps", {eps}}});
  }
  return record(
      op, std::move(y), {&x, &weight, &bias},
      [saved](const Array& dy, const InputGradients& dx) {
        run_group_norm_backward(saved, dy, dx);
      },
      [saved](const Tensor& dy, const TensorGradients& dx) {
        run_group_norm_tensor_backward(saved, dy, dx);
      });
}

}  // namespace

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  return apply_group_norm("group_norm", x, groups, weight, bias, eps);
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const std::int64_t channels = x.defined() && x.ndim() > 1 ? x.dim(1) : 1;
  return apply_group_norm("instance_norm", x, std::max<std::int64_t>(1, channels), weight, bias,
                          eps);
}

static OpSample group_norm_sample(const char* name, const Shape& shape, std::int64_t groups,
                                  bool affine) {
  std::vector<Array> inputs = {sample_values(shape, 67, -2.0, 3.0)};
  if (affine) {
    inputs.push_back(sample_values({shape[1]}, 68, 0.5, 1.5));
    inputs.push_back(sample_values({shape[1]}, 69));
  }
  std::int64_t inside = 1;
  for (int axis = 2; axis < shape.size(); ++axis) inside *= shape[axis];
  const std::int64_t channels = shape[1];
  const std::int64_t values = channels / groups * inside;
  return {name, std::move(inputs),
          [groups](std::span<const Tensor> in) {
            const Tensor none;
            const bool scaled = in.size() > 1;
            return group_norm(in[0], groups, scaled ? in[1] : none, scaled ? in[2] : none);
          },
          [=](std::span<const Array> in) {
            return norm_reference(in, {[values](std::int64_t i) { return i / values; },
                                       [=](std::int64_t i) { return i / inside % channels; }});
          }};
}

static std::vector<OpSample> group_norm_samples() {
  return {group_norm_sample("2 groups", {3, 4, 3, 5}, 2, true),
          group_norm_sample("one group", {2, 3, 17}, 1, true),
          group_norm_sample("a group each", {2, 5, 3, 3}, 5, true),
          group_norm_sample("no weight", {2, 4, 9}, 2, false),
          group_norm_sample("no pixels' axes", {3, 6}, 2, true),
          group_norm_sample("one element", {1, 1, 1}, 1, true),
          group_norm_sample("no images", {0, 4, 2}, 2, true)};
}
extern const OpDef group_norm_op = {"group_norm", group_norm_samples};

}  // namespace weft
