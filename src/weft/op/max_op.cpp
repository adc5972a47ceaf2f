// max: the largest value over any axes; equal largest values share the gradient.
#include <algorithm>

#include "weft/kernel/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/operands.h"
#include "weft/op/promote.h"
#include "weft/op/reduce.h"
#include "weft/op/sample.h"
#include "weft/op/shape.h"

namespace weft {

// The part of its maximum's gradient that each value of x gets: equal ones share it.
static Array shares_of(const Array& x, const Array& largest, AxisMask mask) {
  const Array hits = binary(BinaryOp::kEqual, x, largest);
  return binary(BinaryOp::kDiv, hits, reduce(ReduceOp::kSum, hits, mask, true));
}

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  if (!x.defined()) throw_operand("max", "a tensor", "an undefined one");
  const AxisMask mask = axis_mask("max", axes, x.ndim());
  Array y = reduce(ReduceOp::kMax, x.array(), mask, keepdims);
  return record(
      "max", y, {&x},
      [y, mask, in = x.array()](const Array& dy, const InputGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        const Array shares = shares_of(in, y.reshape(kept), mask);
        dx.add(0, binary(BinaryOp::kMul, shares, dy.strided().reshape(kept)));
      },
      [y, mask, in = x.array()](const Tensor& dy, const TensorGradients& dx) {
        const Shape kept = reduced_shape(in.shape(), mask, true);
        const Tensor shares(shares_of(in, y.reshape(kept), mask));
        dx.add(0, mul(shares, reshape(dy, kept)));
      });
}

static std::vector<OpSample> samples() {
  std::vector<OpSample> all =
      reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                        bool keepdims) { return max(x, axes, keepdims); },
                     [](std::span<const double> values) {
                       return *std::max_element(values.begin(), values.end());
                     });
  // A maximum over nothing is refused.
  std::erase_if(all, [](const OpSample& sample) { return sample.name == "over no values"; });
  return all;
}
extern const OpDef max_op = {"max", samples};

}  // namespace weft
