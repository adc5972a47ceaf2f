// Smooth functions of one operand: square, rsqrt, reciprocal, exp2, expm1, log1p, log2, sin, cos,
// erf. Each is its rule, and its samples.
#include <cmath>

#include "weft/op/arithmetic.h"
#include "weft/op/core/sample.h"
#include "weft/op/elementwise/unary_rule.h"

namespace weft {
namespace {

constexpr double kLog2 = 0.69314718055994531;

using Saved = const Tensor&;
using Scalars = const OpScalars&;

constexpr UnaryRule kSquare{"square", UnaryOp::kSquare, BinaryOp::kSquareGradient, false,
                            [](Saved x, Scalars) { return mul(x, 2.0); }};
constexpr UnaryRule kRsqrt{"rsqrt", UnaryOp::kRsqrt, BinaryOp::kRsqrtGradient, true,
                           [](Saved y, Scalars) { return mul(mul(square(y), y), -0.5); }};
constexpr UnaryRule kReciprocal{"reciprocal", UnaryOp::kReciprocal, BinaryOp::kReciprocalGradient,
                                true, [](Saved y, Scalars) { return neg(square(y)); }};
constexpr UnaryRule kExp2{"exp2", UnaryOp::kExp2, BinaryOp::kExp2Gradient, true,
                          [](Saved y, Scalars) { return mul(y, kLog2); }};
constexpr UnaryRule kExpm1{"expm1", UnaryOp::kExpm1, BinaryOp::kExpm1Gradient, true,
                           [](Saved y, Scalars) { return add(y, 1.0); }};
constexpr UnaryRule kLog1p{"log1p", UnaryOp::kLog1p, BinaryOp::kLog1pGradient, false,
                           [](Saved x, Scalars) { return reciprocal(add(x, 1.0)); }};
constexpr UnaryRule kLog2Rule{"log2", UnaryOp::kLog2, BinaryOp::kLog2Gradient, false,
                              [](Saved x, Scalars) { return reciprocal(mul(x, kLog2)); }};
constexpr UnaryRule kSin{"sin", UnaryOp::kSin, BinaryOp::kSinGradient, false,
                         [](Saved x, Scalars) { return cos(x); }};
constexpr UnaryRule kCos{"cos", UnaryOp::kCos, BinaryOp::kCosGradient, false,
                         [](Saved x, Scalars) { return neg(sin(x)); }};
constexpr UnaryRule kErf{"erf", UnaryOp::kErf, BinaryOp::kErfGradient, false, [](Saved x, Scalars) {
                           return mul(exp(neg(square(x))), 1.1283791670955126);
                         }};

using Op = Tensor (*)(const Tensor&);
template <Op kOp>
std::vector<OpSample> function_samples(double (*reference)(double), ValueRange range) {
  return unary_samples([](const Tensor& a) { return kOp(a); }, reference, range);
}

}  // namespace

Tensor square(const Tensor& a) {
  if (a.defined() && !is_floating(a.dtype())) {
    const DType dtype = is_integer(a.dtype()) ? a.dtype() : DType::kI64;
    return Tensor(unary(UnaryOp::kSquare, a.array().to(dtype)));
  }
  return apply_rule(kSquare, a);
}
Tensor rsqrt(const Tensor& a) { return apply_rule(kRsqrt, a); }
Tensor reciprocal(const Tensor& a) { return apply_rule(kReciprocal, a); }
Tensor exp2(const Tensor& a) { return apply_rule(kExp2, a); }
Tensor expm1(const Tensor& a) { return apply_rule(kExpm1, a); }
Tensor log1p(const Tensor& a) { return apply_rule(kLog1p, a); }
Tensor log2(const Tensor& a) { return apply_rule(kLog2Rule, a); }
Tensor sin(const Tensor& a) { return apply_rule(kSin, a); }
Tensor cos(const Tensor& a) { return apply_rule(kCos, a); }
Tensor erf(const Tensor& a) { return apply_rule(kErf, a); }

static std::vector<OpSample> square_samples() {
  return function_samples<square>([](double a) { return a * a; }, {-2.0, 2.0});
}
static std::vector<OpSample> rsqrt_samples() {
  return function_samples<rsqrt>([](double a) { return 1 / std::sqrt(a); }, {0.2, 4.0});
}
static std::vector<OpSample> reciprocal_samples() {
  return function_samples<reciprocal>([](double a) { return 1 / a; }, {-2.0, -0.3});
}
static std::vector<OpSample> exp2_samples() {
  return function_samples<exp2>([](double a) { return std::exp2(a); }, {-4.0, 3.0});
}
static std::vector<OpSample> expm1_samples() {
  return function_samples<expm1>([](double a) { return std::expm1(a); }, {-3.0, 2.0});
}
static std::vector<OpSample> log1p_samples() {
  return function_samples<log1p>([](double a) { return std::log1p(a); }, {-0.7, 5.0});
}
static std::vector<OpSample> log2_samples() {
  return function_samples<log2>([](double a) { return std::log2(a); }, {0.1, 9.0});
}
static std::vector<OpSample> sin_samples() {
  return function_samples<sin>([](double a) { return std::sin(a); }, {-7.0, 7.0});
}
static std::vector<OpSample> cos_samples() {
  return function_samples<cos>([](double a) { return std::cos(a); }, {-7.0, 7.0});
}
static std::vector<OpSample> erf_samples() {
  return function_samples<erf>([](double a) { return std::erf(a); }, {-2.5, 2.5});
}

extern const OpDef square_op = {"square", square_samples};
extern const OpDef rsqrt_op = {"rsqrt", rsqrt_samples};
extern const OpDef reciprocal_op = {"reciprocal", reciprocal_samples};
extern const OpDef exp2_op = {"exp2", exp2_samples};
extern const OpDef expm1_op = {"expm1", expm1_samples};
extern const OpDef log1p_op = {"log1p", log1p_samples};
extern const OpDef log2_op = {"log2", log2_samples};
extern const OpDef sin_op = {"sin", sin_samples};
extern const OpDef cos_op = {"cos", cos_samples};
extern const OpDef erf_op = {"erf", erf_samples};

}  // namespace weft
