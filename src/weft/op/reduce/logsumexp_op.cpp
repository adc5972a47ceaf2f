// logsumexp: y = m + log(sum(e^(x - m))) with the largest value m; dx = e^(x - y) dy.
#include <cmath>

#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/reduce.h"
#include "weft/op/shape.h"

namespace weft {
namespace {

// y where it is finite, else 0: what is taken off before the exponential, so that inf - inf is
// never met.
Array finite_shift(const Array& y) {
  return where(unary(UnaryOp::kIsFinite, y), y, Array::zeros({}, y.dtype(), y.device()));
}

}  // namespace

Tensor logsumexp(const Tensor& operand, const Axes& axes, bool keepdims) {
  const Tensor x = floating_operand("logsumexp", operand);
  // Several roundings otherwise.
  if (size_of(x.dtype()) == 2) {
    return cast(logsumexp(cast(x, DType::kF32), axes, keepdims), x.dtype());
  }
  const AxisMask mask = axis_mask("logsumexp", axes, x.ndim());
  const Shape kept = reduced_shape(x.shape(), mask, true);
  Array y;
  if (x.size() == 0) {
    y = Array::full(kept, -INFINITY, x.dtype(), x.device());
  } else {
    const Array shift = finite_shift(reduce(ReduceOp::kMax, x.array(), mask, true));
    const Array powers = unary(UnaryOp::kExp, binary(BinaryOp::kSub, x.array(), shift));
    const Array total = unary(UnaryOp::kLog, reduce(ReduceOp::kSum, powers, mask, true));
    y = binary(BinaryOp::kAdd, total, shift);
  }
  return record(
      "logsumexp", y.reshape(reduced_shape(x.shape(), mask, keepdims)), {&x},
      [in = x.array(), y, kept](const Array& dy, const InputGradients& dx) {
        const Array share = unary(UnaryOp::kExp, binary(BinaryOp::kSub, in, finite_shift(y)));
        dx.add(0, binary(BinaryOp::kMul, share, dy.strided().reshape(kept)));
      },
      [in = x.array(), y, kept, keepdims, mask](const Tensor& dy, const TensorGradients& dx) {
        const Array value = y.reshape(reduced_shape(in.shape(), mask, keepdims));
        const Tensor output = reshape(dx.output(value), kept);
        dx.add(0, mul(exp(sub(dx.input(0, in), output)), reshape(dy, kept)));
      });
}

static std::vector<OpSample> logsumexp_samples() {
  std::vector<OpSample> all =
      reduce_samples([](const Tensor& x, const std::vector<int>& axes,
                        bool keepdims) { return logsumexp(mul(x, 3.0), axes, keepdims); },
                     [](std::span<const double> values) {
                       double total = 0;
                       for (const double value : values) total += std::exp(3 * value);
                       return std::log(total);
                     });
  all.push_back(
      {"large and infinite values",
       {Array::from(std::vector<double>{1000, 1000, -1000, -INFINITY, -INFINITY, 3}, {3, 2})},
       [](std::span<const Tensor> in) { return logsumexp(in[0], {1}); },
       [](std::span<const Array>) {
         return Array::from(std::vector<double>{1000 + std::log(2.0), -1000, 3}, {3});
       },
       1e-5,
       false});
  return all;
}
extern const OpDef logsumexp_op = {"logsumexp", logsumexp_samples};

}  // namespace weft
