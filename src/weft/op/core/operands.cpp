#include "weft/op/core/operands.h"

#include <stdexcept>

#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/core/linear_map.h"
#include "weft/op/core/promote.h"

namespace weft {

void check_pair(const char* op, const char* name, const Pair& sizes, std::int64_t least) {
  if (sizes.height >= least && sizes.width >= least) return;
  throw_operand(op, std::string(name) + " of at least " + std::to_string(least),
                sizes.height == sizes.width ? std::to_string(sizes.height)
                                            : "{" + std::to_string(sizes.height) + ", " +
                                                  std::to_string(sizes.width) + "}");
}

void throw_operand(const char* op, const std::string& expected, const std::string& got) {
  throw std::invalid_argument(std::string("[") + op + "] expected " + expected + ", got " + got);
}

void check_floating(const char* op, const Tensor& x) {
  if (!x.defined()) throw_operand(op, "a tensor", "an undefined one");
  if (is_floating(x.dtype())) return;
  throw_operand(op, "f32, f64, bf16 or f16 values", std::string(to_string(x.dtype())));
}

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  check_floating(op, a);
  check_floating(op, b);
  if (a.dtype() != b.dtype()) {
    throw_operand(op, "operands of one type",
                  std::string(to_string(a.dtype())) + " and " + std::string(to_string(b.dtype())));
  }
  check_broadcast(op, a, b);
}

AxisMask axis_mask(const char* op, const std::vector<int>& axes, int ndim) {
  if (axes.empty()) return (AxisMask{1} << ndim) - 1;
  // A single value counts as one axis, as in PyTorch.
  if (ndim == 0 && axes.size() == 1 && (axes[0] == 0 || axes[0] == -1)) return 0;
  AxisMask mask = 0;
  for (const int axis : axes) {
    const AxisMask bit = AxisMask{1} << normalize_axis(op, axis, ndim);
    if ((mask & bit) != 0) throw_operand(op, "each axis once", std::to_string(axis) + " twice");
    mask |= bit;
  }
  return mask;
}

void add_summed(const InputGradients& dx, int index, const Array& gradient, const Shape& shape) {
  dx.add(index, sum_to_shape(gradient, shape));
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return linear_map(
      "sum_to", x, [shape](const Array& a) { return sum_to_shape(a, shape); },
      [full = x.shape()](const Array& dy) { return dy.strided().expand(full); });
}

void add_summed(const TensorGradients& dx, int index, const Tensor& gradient, const Shape& shape) {
  if (dx.needs(index)) dx.add(index, sum_to(gradient, shape));
}

Array take_share(const Array& dy, const Array& share) {
  // The gradient of relu is a choice where a product would be: 0 times infinity is NaN.
  return binary(BinaryOp::kMul, binary(BinaryOp::kReluGradient, dy, share), share);
}

Tensor take_share(const Tensor& dy, const Array& share) {
  const auto take = [share](const Array& g) { return take_share(g, share); };
  return linear_map("take_share", dy, take, take);
}

Array other_share(const Array& share) { return binary(BinaryOp::kSub, 1.0, share); }

}  // namespace weft
