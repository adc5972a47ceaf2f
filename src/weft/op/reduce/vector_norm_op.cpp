// norm: (sum |x|^p)^(1/p) over any axes. p = 2 has its own kernel and gradient, x / y dy and 0
// where y is 0; the others are made of operations.
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
namespace {

Tensor euclidean(const Tensor& x, const Axes& axes, bool keepdims) {
  const AxisMask mask = axis_mask("norm", axes, x.ndim());
  const Shape kept = reduced_shape(x.shape(), mask, true);
  Array y = euclidean_norm(x.array(), mask, keepdims);
  return record(
      "norm", y, {&x},
      [in = x.array(), y, kept](const Array& dy, const InputGradients& dx) {
        const Array none = binary(BinaryOp::kEq, y, 0.0);
        const Array share =
            where(none, Array::zeros({}, y.dtype(), y.device()), binary(BinaryOp::kDiv, dy, y));
        dx.add(0, binary(BinaryOp::kMul, in, share.reshape(kept)));
      },
      [in = x.array(), y, kept](const Tensor& dy, const TensorGradients& dx) {
        const Tensor length = dx.output(y);
        const Tensor none = eq(length, 0.0);
        const Tensor share = where(none, 0.0, div(dy, where(none, 1.0, length)));
        dx.add(0, mul(dx.input(0, in), reshape(share, kept)));
      });
}

}  // namespace

Tensor norm(const Tensor& x, double p, const Axes& axes, bool keepdims) {
  check_floating("norm", x);
  if (p == 2.0) return euclidean(x, axes, keepdims);
  if (p == 1.0) return sum(abs(x), axes, keepdims);
  if (p == 0.0) return sum(cast(ne(x, 0.0), x.dtype()), axes, keepdims);
  if (std::isinf(p)) return p > 0 ? max(abs(x), axes, keepdims) : min(abs(x), axes, keepdims);
  if (!(p > 0)) throw_operand("norm", "p of at least 0, or -infinity", std::to_string(p));
  return pow(sum(pow(abs(x), p), axes, keepdims), 1.0 / p);
}

static std::vector<OpSample> vector_norm_samples() {
  const auto of = [](double p) {
    std::vector<OpSample> some =
        reduce_samples([p](const Tensor& x, const std::vector<int>& axes,
                           bool keepdims) { return norm(x, p, axes, keepdims); },
                       [p](std::span<const double> values) {
                         double result = 0;
                         for (const double value : values) {
                           result = std::isinf(p) ? std::max(result, std::abs(value))
                                                  : result + std::pow(std::abs(value), p);
                         }
                         return std::isinf(p) ? result : std::pow(result, 1 / p);
                       });
    std::erase_if(some, [p](const OpSample& sample) {
      return sample.name == "over no values" && (std::isinf(p) || p != 2.0);
    });
    return some;
  };
  std::vector<OpSample> all;
  for (const double p : {2.0, 1.0, 3.0, static_cast<double>(INFINITY)}) {
    for (OpSample& sample : of(p)) all.push_back(std::move(sample));
  }
  return all;
}
extern const OpDef vector_norm_op = {"vector_norm", vector_norm_samples};

}  // namespace weft
