// mean: over any axes.
#include "weft/autograd/op_trace.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  check_floating("mean", x);
  const AxisMask mask = axis_mask("mean", axes, x.ndim());
  std::int64_t count = 1;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if ((mask >> axis & 1U) != 0) count *= x.shape()[axis];
  }
  const double share = 1.0 / static_cast<double>(count);
  if (op_tracing()) {
    trace_attributes("mean",
                     {{"mask", {static_cast<double>(mask)}}, {"keepdims", {keepdims ? 1.0 : 0.0}}});
  }
  return record(
      "mean", reduce(ReduceOp::kSum, x.array(), mask, keepdims, share), {&x},
      [mask, share, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        const Shape kept = reduced_shape(shape, mask, true);
        const Array each = binary(BinaryOp::kMul, dy, share);
        dx.add(0, each.reshape(kept).expand(shape));
      },
      [mask, share, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        const Shape kept = reduced_shape(shape, mask, true);
        dx.add(0, expand(reshape(mul(dy, share), kept), shape));
      });
}

static std::vector<OpSample> mean_samples() {
  std::vector<OpSample> all = reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                                                bool keepdims) { return mean(x, axes, keepdims); },
                                             [](std::span<const double> values) {
                                               double total = 0;
                                               for (const double value : values) total += value;
                                               return total / static_cast<double>(values.size());
                                             });
  // NaN.
  for (OpSample& sample : all) {
    if (sample.name == "over no values") sample.check_gradient = false;
  }
  return all;
}
extern const OpDef mean_op = {"mean", mean_samples};

}  // namespace weft
