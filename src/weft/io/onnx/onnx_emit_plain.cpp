// Rules for elementwise operations, reductions and those that move values.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "weft/io/onnx/onnx_emitter.h"

namespace weft {
namespace {

using Integers = std::vector<std::int64_t>;

// One operand and one ONNX operator of the same meaning.
#define WEFT_ONNX_UNARY(function, type) \
  void function(OnnxEmitter& out) { out.result(out.node(type, {out.in(0)})); }
WEFT_ONNX_UNARY(emit_abs, "Abs")
WEFT_ONNX_UNARY(emit_ceil, "Ceil")
WEFT_ONNX_UNARY(emit_cos, "Cos")
WEFT_ONNX_UNARY(emit_erf, "Erf")
WEFT_ONNX_UNARY(emit_exp, "Exp")
WEFT_ONNX_UNARY(emit_floor, "Floor")
WEFT_ONNX_UNARY(emit_log, "Log")
WEFT_ONNX_UNARY(emit_neg, "Neg")
WEFT_ONNX_UNARY(emit_reciprocal, "Reciprocal")
WEFT_ONNX_UNARY(emit_relu, "Relu")
WEFT_ONNX_UNARY(emit_round, "Round")
WEFT_ONNX_UNARY(emit_sigmoid, "Sigmoid")
WEFT_ONNX_UNARY(emit_sign, "Sign")
WEFT_ONNX_UNARY(emit_sin, "Sin")
WEFT_ONNX_UNARY(emit_softsign, "Softsign")
WEFT_ONNX_UNARY(emit_sqrt, "Sqrt")
WEFT_ONNX_UNARY(emit_tanh, "Tanh")
#undef WEFT_ONNX_UNARY

void emit_add(OnnxEmitter& out) { out.result(out.node("Add", {out.in(0), out.second()})); }
void emit_mul(OnnxEmitter& out) { out.result(out.node("Mul", {out.in(0), out.second()})); }
void emit_pow(OnnxEmitter& out) { out.result(out.node("Pow", {out.in(0), out.second()})); }
void emit_sub(OnnxEmitter& out) { out.result(out.node("Sub", {out.in(0), out.in(1)})); }
void emit_maximum(OnnxEmitter& out) { out.result(out.node("Max", {out.in(0), out.in(1)})); }
void emit_minimum(OnnxEmitter& out) { out.result(out.node("Min", {out.in(0), out.in(1)})); }
void emit_matmul(OnnxEmitter& out) { out.result(out.node("MatMul", {out.in(0), out.in(1)})); }
void emit_square(OnnxEmitter& out) {
  const std::string x = out.in(0);
  out.result(out.node("Mul", {x, x}));
}
void emit_rsqrt(OnnxEmitter& out) {
  out.result(out.node("Reciprocal", {out.node("Sqrt", {out.in(0)})}));
}
void emit_div(OnnxEmitter& out) {
  if (out.op().find("numerator") != nullptr) {
    out.result(out.node("Div", {out.scalar(out.number("numerator")), out.in(0)}));
  } else {
    out.result(out.node("Div", {out.in(0), out.second()}));
  }
}
void emit_add_relu(OnnxEmitter& out) {
  out.result(out.node("Relu", {out.node("Add", {out.in(0), out.in(1)})}));
}

// x (1 + erf(x / sqrt 2)) / 2
void emit_gelu(OnnxEmitter& out) {
  const std::string x = out.in(0);
  const std::string e = out.node("Erf", {out.node("Mul", {x, out.scalar(std::sqrt(0.5))})});
  const std::string half = out.node("Mul", {x, out.scalar(0.5)});
  out.result(out.node("Mul", {half, out.node("Add", {e, out.scalar(1.0)})}));
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
void emit_gelu_tanh(OnnxEmitter& out) {
  const std::string x = out.in(0);
  const std::string square = out.node("Mul", {x, x});
  const std::string factor =
      out.node("Add", {out.node("Mul", {square, out.scalar(0.044715)}), out.scalar(1.0)});
  const std::string inner =
      out.node("Mul", {out.node("Mul", {x, factor}), out.scalar(std::sqrt(2.0 / M_PI))});
  const std::string half = out.node("Mul", {x, out.scalar(0.5)});
  out.result(
      out.node("Mul", {half, out.node("Add", {out.node("Tanh", {inner}), out.scalar(1.0)})}));
}

void emit_silu(OnnxEmitter& out) {
  const std::string x = out.in(0);
  out.result(out.node("Mul", {x, out.node("Sigmoid", {x})}));
}
void emit_mish(OnnxEmitter& out) {
  const std::string x = out.in(0);
  out.result(out.node("Mul", {x, out.node("Tanh", {out.node("Softplus", {x})})}));
}
void emit_log_sigmoid(OnnxEmitter& out) {
  const std::string x = out.node("Neg", {out.in(0)});
  out.result(out.node("Neg", {out.node("Softplus", {x})}));
}
void emit_softplus(OnnxEmitter& out) {
  if (out.number("scalars") != 1.0) out.fail("expected softplus with beta 1");
  out.result(out.node("Softplus", {out.in(0)}));
}
void emit_leaky_relu(OnnxEmitter& out) {
  out.result(out.node("LeakyRelu", {out.in(0)}, {onnx_attribute("alpha", out.number("scalars"))}));
}
void emit_elu(OnnxEmitter& out) {
  out.result(out.node("Elu", {out.in(0)}, {onnx_attribute("alpha", out.number("scalars"))}));
}
void emit_clamp(OnnxEmitter& out) {
  const TracedAttribute& bounds = *out.op().find("scalars");
  out.result(
      out.node("Clip", {out.in(0), out.scalar(bounds.values[0]), out.scalar(bounds.values[1])}));
}
void emit_cast(OnnxEmitter& out) {
  out.result(
      out.node("Cast", {out.in(0)}, {onnx_attribute("to", onnx_type(out.op().output.dtype()))}));
}

void emit_sum(OnnxEmitter& out) {
  const auto keepdims = static_cast<std::int64_t>(out.number("keepdims"));
  out.result(out.node("ReduceSum", {out.in(0), out.integers_constant(out.axes_in_mask())},
                      {onnx_attribute("keepdims", keepdims)}));
}
void emit_mean(OnnxEmitter& out) {
  const auto keepdims = static_cast<std::int64_t>(out.number("keepdims"));
  out.result(
      out.node("ReduceMean", {out.in(0)},
               {onnx_attribute("axes", out.axes_in_mask()), onnx_attribute("keepdims", keepdims)}));
}
void emit_softmax(OnnxEmitter& out) {
  const auto axis = static_cast<std::int64_t>(out.number("axis"));
  out.result(out.node(out.op().name == "softmax" ? "Softmax" : "LogSoftmax", {out.in(0)},
                      {onnx_attribute("axis", axis)}));
}

void emit_reshape(OnnxEmitter& out) { out.result(out.reshape(out.in(0), out.open_shape())); }
void emit_transpose(OnnxEmitter& out) {
  const int ndim = out.op().output.ndim();
  const Integers axes = out.integers("axes");
  Integers order;
  for (int i = 0; i < ndim; ++i) order.push_back(i);
  const auto at = [&](std::int64_t axis) {
    return static_cast<std::size_t>(axis < 0 ? axis + ndim : axis);
  };
  std::swap(order[at(axes[0])], order[at(axes[1])]);
  out.result(out.permute(out.in(0), order));
}
void emit_permute(OnnxEmitter& out) {
  Integers axes = out.integers("axes");
  for (std::int64_t& axis : axes) axis = axis < 0 ? axis + out.op().output.ndim() : axis;
  out.result(out.permute(out.in(0), axes));
}
void emit_slice(OnnxEmitter& out) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40U;
  const Integers start = out.integers("start");
  const Integers stop = out.integers("stop");
  const auto step = static_cast<std::int64_t>(out.number("step"));
  const auto axis = static_cast<std::int64_t>(out.number("axis"));
  const std::int64_t begin = start.empty() ? (step > 0 ? 0 : kFar) : start[0];
  const std::int64_t end = stop.empty() ? (step > 0 ? kFar : -kFar) : stop[0];
  out.result(out.slice(out.in(0), axis, begin, end, step));
}
void emit_concat(OnnxEmitter& out) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < out.op().inputs.size(); ++i) parts.push_back(out.in(i));
  const auto axis = static_cast<std::int64_t>(out.number("axis"));
  out.result(out.node("Concat", std::move(parts), {onnx_attribute("axis", axis)}));
}
void emit_expand(OnnxEmitter& out) {
  out.result(out.spread(out.in(0), out.op().inputs[0].shape()));
}

constexpr OnnxRule kPlainRules[] = {
    {"abs", emit_abs},
    {"add", emit_add},
    {"add_relu", emit_add_relu},
    {"cast", emit_cast},
    {"ceil", emit_ceil},
    {"clamp", emit_clamp},
    {"concat", emit_concat},
    {"cos", emit_cos},
    {"div", emit_div},
    {"elu", emit_elu},
    {"erf", emit_erf},
    {"exp", emit_exp},
    {"expand", emit_expand},
    {"floor", emit_floor},
    {"gelu", emit_gelu},
    {"gelu_tanh", emit_gelu_tanh},
    {"hardtanh", emit_clamp},
    {"leaky_relu", emit_leaky_relu},
    {"log", emit_log},
    {"log_sigmoid", emit_log_sigmoid},
    {"log_softmax", emit_softmax},
    {"matmul", emit_matmul},
    {"maximum", emit_maximum},
    {"mean", emit_mean},
    {"minimum", emit_minimum},
    {"mish", emit_mish},
    {"mul", emit_mul},
    {"neg", emit_neg},
    {"permute", emit_permute},
    {"pow", emit_pow},
    {"reciprocal", emit_reciprocal},
    {"relu", emit_relu},
    {"reshape", emit_reshape},
    {"round", emit_round},
    {"rsqrt", emit_rsqrt},
    {"sigmoid", emit_sigmoid},
    {"sign", emit_sign},
    {"silu", emit_silu},
    {"sin", emit_sin},
    {"slice", emit_slice},
    {"softmax", emit_softmax},
    {"softplus", emit_softplus},
    {"softsign", emit_softsign},
    {"sqrt", emit_sqrt},
    {"square", emit_square},
    {"sub", emit_sub},
    {"sum", emit_sum},
    {"tanh", emit_tanh},
    {"transpose", emit_transpose},
};

}  // namespace

std::span<const OnnxRule> onnx_plain_rules() { return kPlainRules; }

}  // namespace weft
