// var: the mean squared distance from the mean; dx = 2 (x - mean) / (n - correction) dy. stddev is
// its root.
#include <algorithm>
#include <cmath>

#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {

Tensor var(const Tensor& x, const Axes& axes, bool unbiased, bool keepdims) {
  check_floating("var", x);
  const AxisMask mask = axis_mask("var", axes, x.ndim());
  const Shape kept = reduced_shape(x.shape(), mask, true);
  const double outputs = static_cast<double>(std::max<std::int64_t>(1, kept.num_elements()));
  const double count = static_cast<double>(x.size()) / outputs;
  const double correction = unbiased ? 1.0 : 0.0;
  const double factor = 2.0 / std::max(0.0, count - correction);
  return record(
      "var", variance(x.array(), mask, keepdims, correction), {&x},
      [mask, kept, count, factor, in = x.array()](const Array& dy, const InputGradients& dx) {
        const Array mean = reduce(ReduceOp::kSum, in, mask, true, 1.0 / count);
        const Array scaled = binary(BinaryOp::kMul, dy.strided().reshape(kept), factor);
        dx.add(0, binary(BinaryOp::kMul, binary(BinaryOp::kSub, in, mean), scaled));
      },
      [axes, kept, factor, in = x.array()](const Tensor& dy, const TensorGradients& dx) {
        const Tensor value = dx.input(0, in);
        const Tensor distance = sub(value, mean(value, axes, true));
        dx.add(0, mul(distance, mul(reshape(dy, kept), factor)));
      });
}

Tensor stddev(const Tensor& x, const Axes& axes, bool unbiased, bool keepdims) {
  const Tensor variance = var(x, axes, unbiased, keepdims);
  // Where all values are equal the root's slope is infinite and theirs is 0: the product counts as
  // 0.
  const Tensor none = eq(variance, 0.0);
  return where(none, variance, sqrt(where(none, 1.0, variance)));
}

static double naive_variance(std::span<const double> values, double correction) {
  if (static_cast<double>(values.size()) <= correction) return std::nan("");
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  double total = 0;
  for (const double value : values) total += (value - mean) * (value - mean);
  return total / (static_cast<double>(values.size()) - correction);
}

static std::vector<OpSample> var_samples() {
  std::vector<OpSample> all =
      reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                        bool keepdims) { return var(x, axes, false, keepdims); },
                     [](std::span<const double> values) { return naive_variance(values, 0); });
  // NaN.
  for (OpSample& sample : all) {
    if (sample.name == "over no values") sample.check_gradient = false;
  }
  return all;
}
static std::vector<OpSample> stddev_samples() {
  std::vector<OpSample> all = reduce_samples(
      [](const Tensor& x, const std::vector<int>& axes, bool keepdims) {
        return stddev(x, axes, true, keepdims);
      },
      [](std::span<const double> values) { return std::sqrt(naive_variance(values, 1)); });
  // One value alone has no unbiased variance.
  for (OpSample& sample : all) {
    if (sample.inputs[0].size() <= 1) sample.check_gradient = false;
  }
  return all;
}

extern const OpDef var_op = {"var", var_samples};
extern const OpDef stddev_op = {"stddev", stddev_samples};

}  // namespace weft
