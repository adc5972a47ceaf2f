// max: the largest value over any axes; equal largest values share the gradient.
#include <algorithm>

#include "weft/kernel/elementwise.h"
#include "weft/op/operands.h"
#include "weft/op/reduce.h"
#include "weft/op/sample.h"

namespace weft {

Tensor max(const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  check_floating("max", x);
  const AxisMask mask = axis_mask("max", axes, x.ndim());
  Array y = reduce(ReduceOp::kMax, x.array(), mask, keepdims);
  return record("max", y, {&x},
                [y, mask, in = x.array()](const Array& dy, const InputGradients& dx) {
                  const Shape kept = reduced_shape(in.shape(), mask, true);
                  const Array hits = binary(BinaryOp::kEqual, in, y.reshape(kept));
                  const Array count = reduce(ReduceOp::kSum, hits, mask, true);
                  const Array share = binary(BinaryOp::kDiv, dy.strided().reshape(kept), count);
                  dx.add(0, binary(BinaryOp::kMul, hits, share));
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
