// Operators on quantized values: x is about (q - zero_point) * scale. Products are summed in f64,
// which holds them exactly, and rounded to even once.
#include <algorithm>

#include "weft/io/onnx/onnx_operator.h"
#include "weft/op/ops.h"

namespace weft {
namespace {

using Tensors = std::vector<Tensor>;

// A scalar as it is; a vector beside the values of x along `axis`.
Tensor along(const OnnxCall& call, const Tensor& vector, const Tensor& x, std::int64_t axis) {
  if (vector.size() == 1) return reshape(vector, Shape());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.ndim()), 1);
  shape[static_cast<std::size_t>(call.axis(axis, x.ndim()))] = vector.size();
  return reshape(vector, Shape(std::span<const std::int64_t>(shape)));
}

Tensor to_f64(const Tensor& x) { return cast(x, DType::kF64); }

// To the nearest integer of a type, ties to even, beyond its range to the end.
Tensor saturated(const OnnxCall& call, const Tensor& x, DType dtype) {
  if (dtype != DType::kU8 && dtype != DType::kI8) {
    call.fail("uint8 or int8", std::string(to_string(dtype)));
  }
  const bool is_signed = dtype == DType::kI8;
  return cast(clamp(round(x), is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0), dtype);
}

// round(x / scale) + zero point.
Tensor quantized(const OnnxCall& call, const Tensor& x, const Tensor& scale, const Tensor& zero) {
  const DType dtype = zero.defined() ? zero.dtype() : DType::kU8;
  const Tensor whole = round(div(x, scale));
  return saturated(call, zero.defined() ? whole + cast(zero, x.dtype()) : whole, dtype);
}

// x - zero point, in f64; the zero point is left out or an input.
Tensor centered(const OnnxCall& call, int x, int zero, std::int64_t axis) {
  Tensor values = to_f64(call.in(x));
  if (!call.has(zero)) return values;
  return values - along(call, to_f64(call.in(zero)), values, axis);
}

Tensors quantize_linear(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t axis = call.integer("axis", 1);
  const Tensor zero = call.has(2) ? along(call, call.in(2), x, axis) : Tensor();
  return {quantized(call, cast(x, DType::kF32), along(call, call.in(1), x, axis), zero)};
}

Tensors dequantize_linear(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  const std::int64_t axis = call.integer("axis", 1);
  const Tensor values = centered(call, 0, 2, axis);
  return {cast(mul(values, to_f64(along(call, call.in(1), x, axis))), DType::kF32)};
}

Tensors dynamic_quantize(const OnnxCall& call) {
  const Tensor& x = call.in(0);
  if (x.size() == 0) call.fail("values", "none");
  const Tensor low = clamp(min(x), -1e300, 0.0);
  const Tensor high = clamp(max(x), 0.0, 1e300);
  const Tensor scale = div(high - low, 255.0);
  const Tensor zero = saturated(call, div(neg(low), scale), DType::kU8);
  return {quantized(call, x, scale, zero), scale, zero};
}

Tensors matmul_integer(const OnnxCall& call) {
  const Tensor a = centered(call, 0, 2, -2);
  const Tensor b = centered(call, 1, 3, -1);
  return {cast(matmul(a, b), DType::kI32)};
}

// y = round(product * scale_a * scale_b / scale_y) + zero_y.
Tensors qlinear_matmul(const OnnxCall& call) {
  const Tensor a = mul(centered(call, 0, 2, -2), to_f64(along(call, call.in(1), call.in(0), -2)));
  const Tensor b = mul(centered(call, 3, 5, -1), to_f64(along(call, call.in(4), call.in(3), -1)));
  return {quantized(call, matmul(a, b), to_f64(call.in(6)), call.in(7))};
}

// The convolution of f64 values with the attributes of this node.
Tensor convolved(const OnnxCall& call, const Tensor& x, const Tensor& weight) {
  const OnnxCall plain(call.node(), call.opset(), {x, weight});
  return find_onnx_operator("Conv")->run(plain)[0];
}

Tensors conv_integer(const OnnxCall& call) {
  return {cast(convolved(call, centered(call, 0, 2, 1), centered(call, 1, 3, 0)), DType::kI32)};
}

Tensors qlinear_conv(const OnnxCall& call) {
  const Tensor x = centered(call, 0, 2, 1);
  const Tensor weight = centered(call, 3, 5, 0);
  const Tensor scale_w = to_f64(along(call, call.in(4), call.in(3), 0));
  Tensor y = convolved(call, x, mul(weight, scale_w));
  const Tensor scale_x = to_f64(reshape(call.in(1), Shape()));
  if (call.has(8)) {  // in units of scale_x * scale_w
    const Tensor per_channel =
        to_f64(call.in(4).size() == 1 ? reshape(call.in(4), Shape()) : call.in(4));
    const Tensor bias = mul(to_f64(call.in(8)), per_channel);
    y = y + reshape(bias, {1, bias.size(), 1, 1});
  }
  return {quantized(call, mul(y, scale_x), to_f64(reshape(call.in(6), Shape())),
                    reshape(call.in(7), Shape()))};
}

constexpr OnnxOperator kQuantizeOps[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize_linear},
};

}  // namespace

std::span<const OnnxOperator> onnx_quantize_ops() { return kQuantizeOps; }

}  // namespace weft
