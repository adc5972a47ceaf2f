#include "weft/kernel/normalize.h"

#include "weft/kernel/elementwise.h"

namespace weft {
namespace {

double share_of(const Array& x, AxisMask axes) {
  std::int64_t count = 1;
  for (int axis = 0; axis < x.ndim(); ++axis) {
    if ((axes >> axis & 1U) != 0) count *= x.shape()[axis];
  }
  return 1.0 / static_cast<double>(count);
}

Array mean_of(const Array& x, AxisMask axes) {
  return reduce(ReduceOp::kSum, x, axes, true, share_of(x, axes));
}

// Turns `centered`, which nobody else holds, into the values.
Normalized scale(Array centered, Array mean, Array variance, double eps) {
  const Array deviation = unary(UnaryOp::kSqrt, binary(BinaryOp::kAdd, variance, eps));
  Array inverse = binary(BinaryOp::kDiv, 1.0, deviation);
  binary_into(BinaryOp::kMul, centered, inverse, centered);
  return {std::move(centered), std::move(mean), std::move(variance), std::move(inverse)};
}

}  // namespace

Normalized normalize(const Array& x, AxisMask axes, double eps) {
  Array mean = mean_of(x, axes);
  Array centered = binary(BinaryOp::kSub, x, mean);
  Array variance = mean_of(binary(BinaryOp::kMul, centered, centered), axes);
  return scale(std::move(centered), std::move(mean), std::move(variance), eps);
}

Normalized normalize_with(const Array& x, const Array& mean, const Array& variance, double eps) {
  return scale(binary(BinaryOp::kSub, x, mean), mean, variance, eps);
}

NormalizedGradient normalize_gradient(const Array& gradient, const Normalized& normalized,
                                      AxisMask axes, const Array& slope) {
  const Array& y = normalized.values;
  const double share = share_of(y, axes);
  // One buffer for all: slope (gradient - y mean(gradient y) - mean(gradient)).
  Array out = binary(BinaryOp::kMul, gradient, y);
  Array product_sum = reduce(ReduceOp::kSum, out, axes, true);
  Array sum = reduce(ReduceOp::kSum, gradient, axes, true);
  binary_into(BinaryOp::kMul, y, binary(BinaryOp::kMul, product_sum, share), out);
  binary_into(BinaryOp::kSub, gradient, out, out);
  binary_into(BinaryOp::kSub, out, binary(BinaryOp::kMul, sum, share), out);
  binary_into(BinaryOp::kMul, out, slope, out);
  return {std::move(out), std::move(sum), std::move(product_sum)};
}

}  // namespace weft
