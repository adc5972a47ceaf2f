// Activations of one operand: gelu (both forms), silu, softplus, log_sigmoid, mish, softsign,
// leaky_relu, elu, hardtanh; and clamp. Each is its rule, and its samples.
#include <algorithm>
#include <cmath>

#include "weft/op/activation.h"
#include "weft/op/arithmetic.h"
#include "weft/op/compare.h"
#include "weft/op/core/operands.h"
#include "weft/op/core/sample.h"
#include "weft/op/elementwise/unary_rule.h"

namespace weft {
namespace {

using Saved = const Tensor&;
using Scalars = const OpScalars&;

// Phi(x) + x phi(x).
Tensor gelu_slope(Saved x, Scalars) {
  const Tensor cdf = add(mul(erf(mul(x, 0.70710678118654752)), 0.5), 0.5);
  const Tensor density = mul(exp(mul(square(x), -0.5)), 0.39894228040143268);
  return add(cdf, mul(x, density));
}

// s (1 + x (1 - s) u'), where s = sigmoid(u), u = 2 sqrt(2/pi) (x + 0.044715 x^3).
Tensor gelu_tanh_slope(Saved x, Scalars) {
  const Tensor xx = square(x);
  const Tensor u = mul(mul(x, 1.5957691216057308), add(mul(xx, 0.044715), 1.0));
  const Tensor du = mul(add(mul(xx, 0.134145), 1.0), 1.5957691216057308);
  const Tensor s = sigmoid(u);
  return add(s, mul(mul(x, mul(s, 1.0 - s)), du));
}

Tensor silu_slope(Saved x, Scalars) {
  const Tensor s = sigmoid(x);
  return mul(s, add(mul(x, 1.0 - s), 1.0));
}

// t + x sigmoid(x) (1 - t^2), where t = tanh(softplus(x)).
Tensor mish_slope(Saved x, Scalars) {
  const Tensor t = tanh(softplus(x));
  return add(t, mul(mul(x, sigmoid(x)), 1.0 - square(t)));
}

Tensor softplus_slope(Saved x, Scalars scalars) {
  const Tensor scaled = mul(x, scalars[0]);
  return where(gt(scaled, scalars[1]), 1.0, sigmoid(scaled));
}

Tensor elu_slope(Saved x, Scalars scalars) {
  // The exponent is kept from overflow where it is not chosen.
  return where(gt(x, 0.0), 1.0, mul(exp(clamp(x, -1e30, 0.0)), scalars[0]));
}

constexpr UnaryRule kGelu{"gelu", UnaryOp::kGelu, BinaryOp::kGeluGradient, false, gelu_slope};
constexpr UnaryRule kGeluTanh{"gelu_tanh", UnaryOp::kGeluTanh, BinaryOp::kGeluTanhGradient, false,
                              gelu_tanh_slope};
constexpr UnaryRule kSilu{"silu", UnaryOp::kSilu, BinaryOp::kSiluGradient, false, silu_slope};
constexpr UnaryRule kSoftplus{"softplus", UnaryOp::kSoftplus, BinaryOp::kSoftplusGradient, false,
                              softplus_slope};
constexpr UnaryRule kLogSigmoid{"log_sigmoid", UnaryOp::kLogSigmoid, BinaryOp::kLogSigmoidGradient,
                                false, [](Saved x, Scalars) { return sigmoid(neg(x)); }};
constexpr UnaryRule kMish{"mish", UnaryOp::kMish, BinaryOp::kMishGradient, false, mish_slope};
constexpr UnaryRule kSoftsign{
    "softsign", UnaryOp::kSoftsign, BinaryOp::kSoftsignGradient, false,
    [](Saved x, Scalars) { return reciprocal(square(add(abs(x), 1.0))); }};
constexpr UnaryRule kLeakyRelu{"leaky_relu", UnaryOp::kLeakyRelu, BinaryOp::kLeakyReluGradient,
                               false, nullptr};
constexpr UnaryRule kElu{"elu", UnaryOp::kElu, BinaryOp::kEluGradient, false, elu_slope};
constexpr UnaryRule kHardtanh{"hardtanh", UnaryOp::kClamp, BinaryOp::kHardtanhGradient, false,
                              nullptr};
constexpr UnaryRule kClamp{"clamp", UnaryOp::kClamp, BinaryOp::kClampGradient, false, nullptr};

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

using Op = Tensor (*)(const Tensor&);
std::vector<OpSample> activation_samples(Op op, double (*reference)(double)) {
  return unary_samples([op](const Tensor& x) { return op(x); }, reference, {-3.0, 3.0});
}

}  // namespace

Tensor gelu(const Tensor& x, GeluForm form) {
  return apply_rule(form == GeluForm::kErf ? kGelu : kGeluTanh, x);
}
Tensor silu(const Tensor& x) { return apply_rule(kSilu, x); }
Tensor softplus(const Tensor& x, double beta, double threshold) {
  if (!(beta > 0)) throw_operand("softplus", "beta > 0", std::to_string(beta));
  return apply_rule(kSoftplus, x, {beta, threshold});
}
Tensor log_sigmoid(const Tensor& x) { return apply_rule(kLogSigmoid, x); }
Tensor mish(const Tensor& x) { return apply_rule(kMish, x); }
Tensor softsign(const Tensor& x) { return apply_rule(kSoftsign, x); }
Tensor leaky_relu(const Tensor& x, double slope) { return apply_rule(kLeakyRelu, x, {slope, 0.0}); }
Tensor elu(const Tensor& x, double alpha) { return apply_rule(kElu, x, {alpha, 0.0}); }
Tensor hardtanh(const Tensor& x, double low, double high) {
  return apply_rule(kHardtanh, x, {low, high});
}
Tensor clamp(const Tensor& a, double low, double high) {
  const bool whole = std::floor(low) == low && std::floor(high) == high;
  if (a.defined() && !is_floating(a.dtype()) && whole) {
    const Tensor x = a.dtype() == DType::kBool ? cast(a, DType::kI64) : a;
    return Tensor(unary(UnaryOp::kClamp, x.array(), {low, high}));
  }
  return apply_rule(kClamp, a, {low, high});
}

static std::vector<OpSample> gelu_samples() {
  return activation_samples([](const Tensor& x) { return gelu(x); },
                            [](double x) { return x * normal_cdf(x); });
}
static std::vector<OpSample> gelu_tanh_samples() {
  return activation_samples([](const Tensor& x) { return gelu(x, GeluForm::kTanh); },
                            [](double x) {
                              const double u =
                                  std::sqrt(2 / 3.141592653589793) * (x + 0.044715 * x * x * x);
                              return 0.5 * x * (1 + std::tanh(u));
                            });
}
static std::vector<OpSample> silu_samples() {
  return activation_samples(silu, [](double x) { return x / (1 + std::exp(-x)); });
}
static std::vector<OpSample> softplus_samples() {
  std::vector<OpSample> all = activation_samples([](const Tensor& x) { return softplus(x); },
                                                 [](double x) { return std::log1p(std::exp(x)); });
  const std::vector<OpSample> sharp =
      activation_samples([](const Tensor& x) { return softplus(x, 2.0, 3.0); },
                         [](double x) { return 2 * x > 3 ? x : std::log1p(std::exp(2 * x)) / 2; });
  all.insert(all.end(), sharp.begin(), sharp.end());
  return all;
}
static std::vector<OpSample> log_sigmoid_samples() {
  return activation_samples(log_sigmoid, [](double x) { return -std::log1p(std::exp(-x)); });
}
static std::vector<OpSample> mish_samples() {
  return activation_samples(mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
}
static std::vector<OpSample> softsign_samples() {
  return activation_samples(softsign, [](double x) { return x / (1 + std::abs(x)); });
}
static std::vector<OpSample> leaky_relu_samples() {
  return activation_samples([](const Tensor& x) { return leaky_relu(x, 0.1); },
                            [](double x) { return x > 0 ? x : 0.1 * x; });
}
static std::vector<OpSample> elu_samples() {
  return activation_samples([](const Tensor& x) { return elu(x, 1.5); },
                            [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); });
}
static std::vector<OpSample> hardtanh_samples() {
  return activation_samples([](const Tensor& x) { return hardtanh(x, -1.01, 2.02); },
                            [](double x) { return std::clamp(x, -1.01, 2.02); });
}
static std::vector<OpSample> clamp_samples() {
  return activation_samples([](const Tensor& x) { return clamp(x, -0.77, 0.51); },
                            [](double x) { return std::clamp(x, -0.77, 0.51); });
}

extern const OpDef gelu_op = {"gelu", gelu_samples};
extern const OpDef gelu_tanh_op = {"gelu_tanh", gelu_tanh_samples};
extern const OpDef silu_op = {"silu", silu_samples};
extern const OpDef softplus_op = {"softplus", softplus_samples};
extern const OpDef log_sigmoid_op = {"log_sigmoid", log_sigmoid_samples};
extern const OpDef mish_op = {"mish", mish_samples};
extern const OpDef softsign_op = {"softsign", softsign_samples};
extern const OpDef leaky_relu_op = {"leaky_relu", leaky_relu_samples};
extern const OpDef elu_op = {"elu", elu_samples};
extern const OpDef hardtanh_op = {"hardtanh", hardtanh_samples};
extern const OpDef clamp_op = {"clamp", clamp_samples};

}  // namespace weft
