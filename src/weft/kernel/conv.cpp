#include "weft/kernel/conv.h"

#include "weft/kernel/conv_plain.h"
#include "weft/kernel/cpu/conv_onednn.h"
#include "weft/kernel/elementwise.h"

namespace weft {
namespace {

void write(const Array& from, Array& to, bool accumulate_into) {
  if (accumulate_into) {
    accumulate(from, to);
  } else {
    to.copy_from(from);
  }
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
  return onednn::conv2d_forward(x, weight, bias, geometry, relu);
}

Array conv2d_backward_data(const Array& dy, const Array& weight, const Shape& x_shape,
                           const Conv2dGeometry& geometry) {
  if (dy.size() == 0) return Array::zeros(x_shape, dy.dtype());
  if (dy.dtype() == DType::kF64) {
    return plain::conv2d_backward_data(dy.contiguous(), weight.contiguous(), x_shape, geometry);
  }
  return onednn::conv2d_backward_data(dy, weight, x_shape, geometry);
}

void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out) {
  WEFT_CHECK(out.weight != nullptr);
  if (dy.size() == 0) {
    if (!out.accumulate_weight) out.weight->fill(0.0);
    if (out.bias != nullptr && !out.accumulate_bias) out.bias->fill(0.0);
    return;
  }
  if (x.dtype() != DType::kF64) {
    onednn::conv2d_backward_weights(x, dy, geometry, out);
    return;
  }
  Array dw = Array::empty(out.weight->shape(), DType::kF64);
  Array db = Array::empty({dy.dim(1)}, DType::kF64);
  plain::conv2d_backward_weights(x.contiguous(), dy.contiguous(), geometry, dw, &db);
  write(dw, *out.weight, out.accumulate_weight);
  if (out.bias != nullptr) write(db, *out.bias, out.accumulate_bias);
}

}  // namespace weft
