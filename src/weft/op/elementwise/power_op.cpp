// Functions of two operands: pow(a, b) = a^b, and atan2(a, b), the angle of the point (b, a).
#include <cmath>

#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {
namespace {

// b a^(b - 1), which is 0 for b = 0 whatever a is.
Array base_slope(const Array& a, const Array& b) {
  const Array slope =
      binary(BinaryOp::kMul, b, binary(BinaryOp::kPow, a, binary(BinaryOp::kSub, b, 1.0)));
  return where(binary(BinaryOp::kEq, b, 0.0), Array::zeros({}, b.dtype(), b.device()), slope);
}

// y log a, which is 0 for a = 0 but where b < 0: there y is infinite and the slope, too.
Array exponent_slope(const Array& a, const Array& b, const Array& y) {
  const Array slope = binary(BinaryOp::kMul, y, unary(UnaryOp::kLog, a));
  const Array flat = binary(BinaryOp::kMul, binary(BinaryOp::kEq, a, 0.0).to(DType::kF32),
                            binary(BinaryOp::kGe, b, 0.0).to(DType::kF32));
  return where(binary(BinaryOp::kNe, flat, 0.0), Array::zeros({}, a.dtype(), a.device()), slope);
}

}  // namespace

Tensor pow(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("pow", a, b);
    return pow(like.a, like.b);
  }
  check_broadcast("pow", a, b);
  Array y = binary(BinaryOp::kPow, a.array(), b.array());
  return record(
      "pow", y, {&a, &b},
      [x = a.array(), z = b.array(), y](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) {
          add_summed(dx, 0, binary(BinaryOp::kMul, dy, base_slope(x, z)), x.shape());
        }
        if (dx.needs(1)) {
          add_summed(dx, 1, binary(BinaryOp::kMul, dy, exponent_slope(x, z, y)), z.shape());
        }
      },
      [x = a.array(), z = b.array(), y](const Tensor& dy, const TensorGradients& dx) {
        const Tensor base = dx.input(0, x);
        const Tensor exponent = dx.input(1, z);
        if (dx.needs(0)) {
          const Tensor slope =
              mul(exponent,
                  pow(base, sub(exponent, Tensor(Array::full({}, 1.0, z.dtype(), z.device())))));
          add_summed(dx, 0, mul(dy, where(eq(exponent, 0.0), 0.0, slope)), x.shape());
        }
        if (dx.needs(1)) {
          const Tensor slope = mul(dx.output(y), log(base));
          add_summed(dx, 1,
                     mul(dy, where(logical_and(eq(base, 0.0), ge(exponent, 0.0)), 0.0, slope)),
                     z.shape());
        }
      });
}

Tensor atan2(const Tensor& a, const Tensor& b) {
  if (differ(a, b) || !is_floating(a.dtype())) {
    const Operands like = promote_floating("atan2", a, b);
    return atan2(like.a, like.b);
  }
  check_broadcast("atan2", a, b);
  Array y = binary(BinaryOp::kAtan2, a.array(), b.array());
  return record(
      "atan2", std::move(y), {&a, &b},
      [x = a.array(), z = b.array()](const Array& dy, const InputGradients& dx) {
        const Array square =
            binary(BinaryOp::kAdd, unary(UnaryOp::kSquare, x), unary(UnaryOp::kSquare, z));
        const Array share = binary(BinaryOp::kDiv, dy, square);
        if (dx.needs(0)) add_summed(dx, 0, binary(BinaryOp::kMul, share, z), x.shape());
        if (dx.needs(1)) {
          add_summed(dx, 1, unary(UnaryOp::kNeg, binary(BinaryOp::kMul, share, x)), z.shape());
        }
      },
      [x = a.array(), z = b.array()](const Tensor& dy, const TensorGradients& dx) {
        const Tensor top = dx.input(0, x);
        const Tensor side = dx.input(1, z);
        const Tensor share = div(dy, add(square(top), square(side)));
        if (dx.needs(0)) add_summed(dx, 0, mul(share, side), x.shape());
        if (dx.needs(1)) add_summed(dx, 1, neg(mul(share, top)), z.shape());
      });
}

static std::vector<OpSample> power_samples() {
  std::vector<OpSample> all =
      binary_samples([](const Tensor& a, const Tensor& b) { return pow(add(mul(a, a), 1.5), b); },
                     [](double a, double b) { return std::pow(a * a + 1.5, b); }, {-1.5, 2.0});
  all.push_back({"zeros",
                 {Array::from(std::vector<double>{0, 0, 0, 2}, {4}),
                  Array::from(std::vector<double>{2, 0, 1, 0}, {4})},
                 [](std::span<const Tensor> in) { return pow(in[0], in[1]); },
                 [](std::span<const Array>) {
                   return Array::from(std::vector<double>{0, 1, 0, 1}, {4});
                 },
                 1e-5,
                 false});
  return all;
}
static std::vector<OpSample> atan2_samples() {
  return binary_samples([](const Tensor& a, const Tensor& b) { return atan2(a, b); },
                        [](double a, double b) { return std::atan2(a, b); }, {0.3, 2.0});
}

extern const OpDef power_op = {"power", power_samples};
extern const OpDef atan2_op = {"atan2", atan2_samples};

}  // namespace weft
