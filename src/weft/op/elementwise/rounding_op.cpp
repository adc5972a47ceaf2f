// floor, ceil, round (ties to even), trunc, sign: constant almost everywhere, so the gradient is 0.
#include <cmath>

#include "weft/op/arithmetic.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/elementwise/unary_rule.h"

namespace weft {
namespace {

constexpr UnaryRule kFloor{"floor", UnaryOp::kFloor, BinaryOp::kZeroGradient, false, nullptr};
constexpr UnaryRule kCeil{"ceil", UnaryOp::kCeil, BinaryOp::kZeroGradient, false, nullptr};
constexpr UnaryRule kRound{"round", UnaryOp::kRound, BinaryOp::kZeroGradient, false, nullptr};
constexpr UnaryRule kTrunc{"trunc", UnaryOp::kTrunc, BinaryOp::kZeroGradient, false, nullptr};
constexpr UnaryRule kSign{"sign", UnaryOp::kSign, BinaryOp::kZeroGradient, false, nullptr};

Tensor apply_rounding(const UnaryRule& rule, const Tensor& a) {
  if (!a.defined()) throw_operand(rule.name, "a tensor", "an undefined one");
  if (is_floating(a.dtype())) return apply_rule(rule, a);
  return Tensor(unary(rule.forward, a.array()));
}

using Op = Tensor (*)(const Tensor&);
template <Op kOp>
std::vector<OpSample> rounding_samples(double (*reference)(double)) {
  return unary_samples([](const Tensor& a) { return kOp(a); }, reference, {-3.3, 3.1});
}

}  // namespace

Tensor floor(const Tensor& a) { return apply_rounding(kFloor, a); }
Tensor ceil(const Tensor& a) { return apply_rounding(kCeil, a); }
Tensor round(const Tensor& a) { return apply_rounding(kRound, a); }
Tensor trunc(const Tensor& a) { return apply_rounding(kTrunc, a); }
Tensor sign(const Tensor& a) { return apply_rounding(kSign, a); }

static std::vector<OpSample> floor_samples() {
  return rounding_samples<floor>([](double a) { return std::floor(a); });
}
static std::vector<OpSample> ceil_samples() {
  return rounding_samples<ceil>([](double a) { return std::ceil(a); });
}
static std::vector<OpSample> round_samples() {
  std::vector<OpSample> all = rounding_samples<round>([](double a) { return std::nearbyint(a); });
  all.push_back({"ties",
                 {Array::from(std::vector<double>{-2.5, -1.5, -0.5, 0.5, 1.5, 2.5}, {6})},
                 [](std::span<const Tensor> in) { return round(in[0]); },
                 [](std::span<const Array> in) {
                   return map_values(in[0], [](double a) { return std::nearbyint(a); });
                 },
                 1e-5,
                 false});
  return all;
}
static std::vector<OpSample> trunc_samples() {
  return rounding_samples<trunc>([](double a) { return std::trunc(a); });
}
static std::vector<OpSample> sign_samples() {
  return rounding_samples<sign>([](double a) { return static_cast<double>((a > 0) - (a < 0)); });
}

extern const OpDef floor_op = {"floor", floor_samples};
extern const OpDef ceil_op = {"ceil", ceil_samples};
extern const OpDef round_op = {"round", round_samples};
extern const OpDef trunc_op = {"trunc", trunc_samples};
extern const OpDef sign_op = {"sign", sign_samples};

}  // namespace weft
