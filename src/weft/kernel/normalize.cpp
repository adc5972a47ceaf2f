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

Normalized scale(const Array& centered, Array mean, Array variance, double eps) {
  const Array deviation = unary(UnaryOp::kSqrt, binary(BinaryOp::kAdd, variance, eps));
  Array inverse = binary(BinaryOp::kDiv, 1.0, deviation);
  Array values = binary(BinaryOp::kMul, centered, inverse);
  return {std::move(values), std::move(mean), std::move(variance), std::move(inverse)};
}

}  // namespace

Normalized normalize(const Array& x, AxisMask axes, double eps) {
  Array mean = mean_of(x, axes);
  const Array centered = binary(BinaryOp::kSub, x, mean);
  Array variance = mean_of(binary(BinaryOp::kMul, centered, centered), axes);
  return scale(centered, std::move(mean), std::move(variance), eps);
}

Normalized normalize_with(const Array& x, const Array& mean, const Array& variance, double eps) {
  return scale(binary(BinaryOp::kSub, x, mean), mean, variance, eps);
}

Array normalize_gradient(const Array& gradient, const Normalized& normalized, AxisMask axes) {
  const Array& y = normalized.values;
  const Array along = mean_of(binary(BinaryOp::kMul, gradient, y), axes);
  const Array off =
      binary(BinaryOp::kAdd, binary(BinaryOp::kMul, y, along), mean_of(gradient, axes));
  return binary(BinaryOp::kMul, binary(BinaryOp::kSub, gradient, off),
                normalized.inverse_deviation);
}

}  // namespace weft
