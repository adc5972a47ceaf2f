// Operators that treat each element alone. Two operands broadcast; ONNX gives both one type.
#include <cmath>
#include <limits>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;

// An operation with one operand.
template <Tensor (*kOp)(const Tensor&)>
Tensors unary(const OnnxCall& call) {
  return {kOp(call.in(0))};
}

using BinaryOperation = Tensor (*)(const Tensor&, const Tensor&);

Tensor apply(const OnnxCall& call, BinaryOperation op, const Tensor& a, const Tensor& b) {
  if (call.node().find("axis") != nullptr)
    call.fail("broadcasting as from version 7 on", "an axis");
  call.bounded(broadcast_shapes(a.shape(), b.shape()));
  return op(a, b);
}

template <BinaryOperation kOp>
Tensors binary(const OnnxCall& call) {
  return {apply(call, kOp, call.in(0), call.in(1))};
}

// An operation with any number of operands.
template <BinaryOperation kOp>
Tensors variadic(const OnnxCall& call) {
  Tensor result = call.in(0);
  for (int i = 1; i < call.size(); ++i) result = apply(call, kOp, result, call.in(i));
  return {result};
}

// Integers: towards 0, where floor_divide rounds down.
Tensor divide(const Tensor& a, const Tensor& b) {
  if (is_floating(a.dtype())) return div(a, b);
  const Tensor down = floor_divide(a, b);
  const Tensor is_inexact_negative =
      logical_and(ne(mul(down, b), a), logical_xor(lt(a, 0.0), lt(b, 0.0)));
  return add(down, cast(is_inexact_negative, a.dtype()));
}

Tensor same(const Tensor& x) { return x; }
Tensor erf_like(const Tensor& x) { return cast(erf(x), x.dtype()); }
Tensor tangent(const Tensor& x) { return div(sin(x), cos(x)); }
Tensor arc_tangent(const Tensor& x) { return atan2(x, ones_like(x)); }
// sqrt(1 - x^2) without cancellation near 1.
Tensor other_leg(const Tensor& x) { return sqrt(mul(1.0 - x, 1.0 + x)); }
Tensor arc_sine(const Tensor& x) { return atan2(x, other_leg(x)); }
Tensor arc_cosine(const Tensor& x) { return atan2(other_leg(x), x); }
Tensor hyperbolic_sine(const Tensor& x) {
  const Tensor e = expm1(x);
  return mul(e + div(e, e + 1.0), 0.5);
}
Tensor hyperbolic_cosine(const Tensor& x) { return mul(exp(x) + exp(neg(x)), 0.5); }
Tensor area_sine(const Tensor& x) {
  const Tensor a = abs(x);
  const Tensor squared = square(a);
  return mul(sign(x), log1p(a + div(squared, 1.0 + sqrt(squared + 1.0))));
}
Tensor area_cosine(const Tensor& x) { return log(x + sqrt(mul(x - 1.0, x + 1.0))); }
Tensor area_tangent(const Tensor& x) { return mul(log1p(div(mul(x, 2.0), 1.0 - x)), 0.5); }
Tensor plain_softplus(const Tensor& x) { return softplus(x); }
Tensor hard_swish(const Tensor& x) { return mul(x, clamp(mul(x, 1.0 / 6.0) + 0.5, 0.0, 1.0)); }

Tensors clip(const OnnxCall& call) {
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = call.in(0);
  if (call.opset() < 11) {
    return {clamp(x, call.number("min", -infinity), call.number("max", infinity))};
  }
  if (call.has(1)) x = maximum(x, cast(call.in(1), x.dtype()));
  if (call.has(2)) x = minimum(x, cast(call.in(2), x.dtype()));
  return {x};
}

Tensors leaky(const OnnxCall& call) { return {leaky_relu(call.in(0), call.number("alpha", 0.01))}; }
Tensors elu_of(const OnnxCall& call) { return {elu(call.in(0), call.number("alpha", 1.0))}; }
Tensors celu(const OnnxCall& call) {
  const double alpha = call.number("alpha", 1.0);
  const Tensor& x = call.in(0);
  return {maximum(x, zeros_like(x)) + minimum(zeros_like(x), mul(expm1(div(x, alpha)), alpha))};
}
Tensors selu(const OnnxCall& call) {
  const double alpha = call.number("alpha", 1.67326319217681884765625);
  return {mul(elu(call.in(0), alpha), call.number("gamma", 1.05070102214813232421875))};
}
Tensors thresholded(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  return {where(gt(x, call.number("alpha", 1.0)), x, 0.0)};
}
Tensors hard_sigmoid(const OnnxCall& call) {
  return {clamp(mul(call.in(0), call.number("alpha", 0.2)) + call.number("beta", 0.5), 0.0, 1.0)};
}
Tensors shrink(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const double bias = call.number("bias", 0.0);
  const double lambda = call.number("lambd", 0.5);
  const Tensor outside = where(lt(x, -lambda), x + bias, x - bias);
  return {where(logical_or(lt(x, -lambda), gt(x, lambda)), outside, 0.0)};
}
Tensors prelu(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  Tensor slope = call.in(1);
  // Before version 7 a vector has a slope for each channel.
  if (call.opset() < 7 && slope.ndim() == 1 && x.ndim() > 2) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(x.ndim() - 1), 1);
    shape[0] = slope.size();
    slope = reshape(slope, Shape(std::span<const std::int64_t>(shape)));
  }
  return {where(lt(x, 0.0), mul(x, slope), x)};
}
Tensors gelu_of(const OnnxCall& call) {
  const bool tanh_form = call.text("approximate", "none") == "tanh";
  return {gelu(call.in(0), tanh_form ? GeluForm::kTanh : GeluForm::kErf)};
}

Tensors modulo(const OnnxCall& call) {
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  if (call.integer("fmod", 0) == 0) return {apply(call, remainder, a, b)};
  // The sign of a, as C's fmod: the remainder of the absolute values.
  const Tensor rest = apply(call, remainder, abs(a), abs(b));
  return {where(lt(a, 0.0), neg(rest), rest)};
}

// The result has the base's type.
Tensors power(const OnnxCall& call) {
  const Tensor& a = call.in(0);
  const Tensor& b = call.in(1);
  call.bounded(broadcast_shapes(a.shape(), b.shape()));
  if (a.dtype() == b.dtype()) return {pow(a, b)};
  if (is_floating(a.dtype())) return {pow(a, cast(b, a.dtype()))};
  return {cast(pow(cast(a, DType::kF64), cast(b, DType::kF64)), a.dtype())};
}

Tensors mean_of(const OnnxCall& call) {
  return {div(variadic<add>(call)[0], static_cast<double>(call.size()))};
}

Tensors select(const OnnxCall& call) {
  const Shape of_both = broadcast_shapes(call.in(1).shape(), call.in(2).shape());
  call.bounded(broadcast_shapes(call.in(0).shape(), of_both));
  return {where(call.in(0), call.in(1), call.in(2))};
}

Tensors is_infinite(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  Tensor result = isinf(x);
  if (call.integer("detect_negative", 1) == 0) result = logical_and(result, gt(x, 0.0));
  if (call.integer("detect_positive", 1) == 0) result = logical_and(result, lt(x, 0.0));
  return {result};
}

DType type_of(const OnnxCall& call, std::int64_t number) {
  const std::optional<DType> dtype = dtype_of_onnx(number);
  if (!dtype) call.fail("a type that Weft has", "number " + std::to_string(number));
  return *dtype;
}
Tensors cast_to(const OnnxCall& call) {
  return {
      cast(call.in(0), type_of(call, call.required("to", OnnxAttributeKind::kInteger).integer))};
}
Tensors cast_like(const OnnxCall& call) { return {cast(call.in(0), call.in(1).dtype())}; }

Tensors bit_shift(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  // As a product with or a division by a power of 2, which holds in i64: all bits are out by then.
  const Tensor places = clamp(cast(call.in(1), DType::kI64), 0.0, 62.0);
  const Tensor by = cast(pow(full_like(places, 2), places), DType::kI64);
  const Tensor wide = cast(x, DType::kI64);
  const bool left = call.text("direction", "") == "LEFT";
  return {cast(left ? mul(wide, by) : floor_divide(wide, by), x.dtype())};
}

Tensors dropout_of(const OnnxCall& call) {
  const bool training = call.has(2) && call.in(2).array().item() != 0.0;
  const double ratio = call.has(1) ? call.in(1).array().item() : call.number("ratio", 0.5);
  if (training && ratio != 0.0) {
    call.fail("dropout that does nothing (a model for inference)", "a ratio in training mode");
  }
  const Tensor& x = call.in(0);
  return {x, full(x.shape(), 1.0, DType::kBool)};
}

constexpr OnnxOperator kElementwiseOps[] = {
    {"Abs", unary<abs>},
    {"Acos", unary<arc_cosine>},
    {"Acosh", unary<area_cosine>},
    {"Add", binary<add>},
    {"And", binary<logical_and>},
    {"Asin", unary<arc_sine>},
    {"Asinh", unary<area_sine>},
    {"Atan", unary<arc_tangent>},
    {"Atanh", unary<area_tangent>},
    {"BitShift", bit_shift},
    {"Cast", cast_to},
    {"CastLike", cast_like},
    {"Ceil", unary<ceil>},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", unary<cos>},
    {"Cosh", unary<hyperbolic_cosine>},
    {"Div", binary<divide>},
    {"Dropout", dropout_of},
    {"Elu", elu_of},
    {"Equal", binary<eq>},
    {"Erf", unary<erf_like>},
    {"Exp", unary<exp>},
    {"Floor", unary<floor>},
    {"Gelu", gelu_of},
    {"Greater", binary<gt>},
    {"GreaterOrEqual", binary<ge>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", unary<hard_swish>},
    {"Identity", unary<same>},
    {"IsInf", is_infinite},
    {"IsNaN", unary<isnan>},
    {"LeakyRelu", leaky},
    {"Less", binary<lt>},
    {"LessOrEqual", binary<le>},
    {"Log", unary<log>},
    {"Max", variadic<maximum>},
    {"Mean", mean_of},
    {"Min", variadic<minimum>},
    {"Mish", unary<mish>},
    {"Mod", modulo},
    {"Mul", binary<mul>},
    {"Neg", unary<neg>},
    {"Not", unary<logical_not>},
    {"Or", binary<logical_or>},
    {"PRelu", prelu},
    {"Pow", power},
    {"Reciprocal", unary<reciprocal>},
    {"Relu", unary<relu>},
    {"Round", unary<round>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", unary<sigmoid>},
    {"Sign", unary<sign>},
    {"Sin", unary<sin>},
    {"Sinh", unary<hyperbolic_sine>},
    {"Softplus", unary<plain_softplus>},
    {"Softsign", unary<softsign>},
    {"Sqrt", unary<sqrt>},
    {"Sub", binary<sub>},
    {"Sum", variadic<add>},
    {"Tan", unary<tangent>},
    {"Tanh", unary<tanh>},
    {"ThresholdedRelu", thresholded},
    {"Where", select},
    {"Xor", binary<logical_xor>},
};

}  // namespace

std::span<const OnnxOperator> onnx_elementwise_ops() { return kElementwiseOps; }

}  // namespace weft
