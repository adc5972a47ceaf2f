// remainder: y = a - b floor(a / b), dy/da = 1, dy/db = -floor(a / b). floor_divide: no gradient.
#include <algorithm>
#include <cmath>
#include <string>

#include "weft/autograd/node.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"

namespace weft {

// Throws DivisionByZero if an integer that divides is 0; floats give infinities and NaN.
static void check_divisor(const char* op, const Array& divisor) {
  if (is_floating(divisor.dtype()) || divisor.dtype() == DType::kBool) return;
  const Array values = divisor.strided().contiguous().to(Device::cpu());
  const std::int64_t place = with_dtype(values.dtype(), [&](auto zero) -> std::int64_t {
    const auto all = values.flat<decltype(zero)>();
    const auto found = std::find(all.begin(), all.end(), zero);
    return found == all.end() ? -1 : found - all.begin();
  });
  if (place < 0) return;
  throw DivisionByZero(std::string("[") + op + "] expected integers other than 0 to divide by, " +
                       "got 0 at element " + std::to_string(place) + " of shape " +
                       to_string(divisor.shape()));
}

Tensor remainder(const Tensor& a, const Tensor& b) {
  if (differ(a, b)) {
    const Operands like = promote("remainder", a, b);
    return remainder(like.a, like.b);
  }
  check_broadcast("remainder", a, b);
  if (a.size() > 0) check_divisor("remainder", b.array());
  Array y = binary(BinaryOp::kRemainder, a.array(), b.array());
  return record(
      "remainder", std::move(y), {&a, &b},
      [x = a.array(), z = b.array()](const Array& dy, const InputGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, x.shape());
        if (dx.needs(1)) {
          const Array whole = binary(BinaryOp::kFloorDivide, x, z);
          add_summed(dx, 1, unary(UnaryOp::kNeg, binary(BinaryOp::kMul, dy, whole)), z.shape());
        }
      },
      [x = a.array(), z = b.array()](const Tensor& dy, const TensorGradients& dx) {
        if (dx.needs(0)) add_summed(dx, 0, dy, x.shape());
        if (dx.needs(1)) {
          const Tensor whole(binary(BinaryOp::kFloorDivide, x, z));
          add_summed(dx, 1, neg(mul(dy, whole)), z.shape());
        }
      });
}

Tensor floor_divide(const Tensor& a, const Tensor& b) {
  const Operands like = promote("floor_divide", a, b);
  if (a.size() > 0) check_divisor("floor_divide", like.b.array());
  Array y = binary(BinaryOp::kFloorDivide, like.a.array(), like.b.array());
  return Tensor(std::move(y));
}

static std::vector<OpSample> remainder_samples() {
  std::vector<OpSample> all = binary_samples(
      [](const Tensor& a, const Tensor& b) { return remainder(mul(a, 8.0), b); },
      [](double a, double b) { return 8 * a - b * std::floor(8 * a / b); }, {0.9, 2.3});
  all.push_back({"negative divisors",
                 {sample_values({5, 7}, 3, -9.0, 9.0), sample_values({5, 1}, 4, -2.5, -1.0)},
                 [](std::span<const Tensor> in) { return remainder(in[0], in[1]); },
                 [](std::span<const Array> in) {
                   return map_values(in[0], in[1],
                                     [](double a, double b) { return a - b * std::floor(a / b); });
                 }});
  return all;
}

static std::vector<OpSample> floor_divide_samples() {
  return binary_samples(
      [](const Tensor& a, const Tensor& b) {
        // Exact in every type, so that no rounding moves a value over a step.
        const Tensor steps = floor_divide(a, mul(b, 0.125));
        return add(add(a, mul(b, 1.0)), steps);
      },
      [](double a, double b) { return a + b + std::floor(8 * a / b); }, {0.9, 2.3});
}

extern const OpDef remainder_op = {"remainder", remainder_samples};
extern const OpDef floor_divide_op = {"floor_divide", floor_divide_samples};

}  // namespace weft
