// sum: over any axes; the gradient is broadcast back.
#include "weft/autograd/op_trace.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/promote.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  if (!x.defined()) throw_operand("sum", "a tensor", "an undefined one");
  const AxisMask mask = axis_mask("sum", axes, x.ndim());
  if (op_tracing()) {
    trace_attributes("sum",
                     {{"mask", {static_cast<double>(mask)}}, {"keepdims", {keepdims ? 1.0 : 0.0}}});
  }
  return record(
      "sum", reduce(ReduceOp::kSum, x.array(), mask, keepdims), {&x},
      [mask, shape = x.shape()](const Array& dy, const InputGradients& dx) {
        const Shape kept = reduced_shape(shape, mask, true);
        dx.add(0, dy.strided().reshape(kept).expand(shape));
      },
      [mask, shape = x.shape()](const Tensor& dy, const TensorGradients& dx) {
        const Shape kept = reduced_shape(shape, mask, true);
        dx.add(0, expand(reshape(dy, kept), shape));
      });
}

static std::vector<OpSample> sum_samples() {
  return reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                           bool keepdims) { return sum(x, axes, keepdims); },
                        [](std::span<const double> values) {
                          double total = 0;
                          for (const double value : values) total += value;
                          return total;
                        });
}
extern const OpDef sum_op = {"sum", sum_samples};

}  // namespace weft
