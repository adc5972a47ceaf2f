#include "weft/kernel/conv.h"

#include "weft/kernel/conv_plain.h"
#include "weft/kernel/cpu/conv_onednn.h"
#include "weft/kernel/cpu/few_channels.h"
#include "weft/kernel/cpu/winograd.h"
#include "weft/kernel/elementwise.h"
#include "weft/kernel/linear.h"

namespace weft {
namespace {

void write(const Array& from, Array& to, bool accumulate_into) {
  if (accumulate_into) {
    accumulate(from, to);
  } else {
    to.copy_from(from);
  }
}

Array backward_plain(const Array& g, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                     bool wants_data) {
  if (out.weight != nullptr) {
    Array dw = Array::empty(out.weight->shape(), DType::kF64);
    Array db = Array::empty({g.dim(1)}, DType::kF64);
    plain::conv2d_backward_weights(saved.x.contiguous(), g, saved.geometry, dw, &db);
    write(dw, *out.weight, out.accumulate_weight);
    if (out.bias != nullptr) write(db, *out.bias, out.accumulate_bias);
  }
  if (!wants_data) return {};
  return plain::conv2d_backward_data(g, saved.weight.contiguous(), saved.x.shape(), saved.geometry);
}

}  // namespace

Shape conv2d_shape(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  Shape shape = {x[0], weight[0], 0, 0};
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t reach = geometry.dilation[i] * (weight[2 + axis] - 1) + 1;
    shape[2 + axis] = (x[2 + axis] + 2 * geometry.padding[i] - reach) / geometry.stride[i] + 1;
  }
  return shape;
}

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu) {
  const Shape shape = conv2d_shape(x.shape(), weight.shape(), geometry);
  if (shape.num_elements() == 0) return Array::empty(shape, x.dtype());
  if (x.dtype() == DType::kF64) {
    return plain::conv2d_forward(x.contiguous(), weight.contiguous(), bias, geometry, relu);
  }
  if (winograd::applies(x.shape(), weight.shape(), geometry)) {
    return winograd::conv2d_forward(x, weight, bias, geometry, relu);
  }
  return onednn::conv2d_forward(x, weight, bias, geometry, relu);
}

Array conv2d_backward(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                      bool wants_data) {
  const Shape& shape = saved.x.shape();
  if (dy.size() == 0) {
    if (out.weight != nullptr && !out.accumulate_weight) out.weight->fill(0.0);
    if (out.bias != nullptr && !out.accumulate_bias) out.bias->fill(0.0);
    return wants_data ? Array::zeros(shape, dy.dtype()) : Array();
  }
  const bool f64 = dy.dtype() == DType::kF64;
  if (!f64 && winograd::applies(shape, saved.weight.shape(), saved.geometry)) {
    return winograd::conv2d_backward(dy, saved, out, wants_data);
  }
  if (!f64 && !wants_data && out.weight != nullptr &&
      few_channels::applies(shape, saved.weight.shape(), saved.geometry)) {
    few_channels::conv2d_backward_weights(dy, saved, out);
    return {};
  }
  const Array g = saved.y.defined() ? relu_backward(dy, saved.y) : dy;
  if (f64) return backward_plain(g.contiguous(), saved, out, wants_data);
  if (out.weight != nullptr) onednn::conv2d_backward_weights(saved.x, g, saved.geometry, out);
  if (!wants_data) return {};
  return onednn::conv2d_backward_data(g, saved.weight, shape, saved.geometry);
}

}  // namespace weft
