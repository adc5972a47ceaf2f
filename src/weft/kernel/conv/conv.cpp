#include "weft/kernel/conv/conv.h"

#include "weft/array/launch.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/conv_plain.h"
#include "weft/kernel/conv/direct_weights.h"
#include "weft/kernel/conv/few/few_channels.h"
#include "weft/kernel/conv/few/few_pixels.h"
#include "weft/kernel/conv/few/first_layer.h"
#include "weft/kernel/conv/winograd/winograd.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/elementwise.h"
#include "weft/kernel/gemm/linear.h"

namespace weft {
namespace {

// The operations of one convolution, or of one of its two gradients.
double conv_flops(const Shape& y, const Shape& weight) {
  return 2.0 * static_cast<double>(y.num_elements()) *
         static_cast<double>(weight[1] * weight[2] * weight[3]);
}

void write(const Array& from, Array& to, bool accumulate_into) {
  if (accumulate_into) {
    accumulate(from, to);
  } else {
    to.copy_from(from);
  }
}

void backward_plain(const Array& g, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                    Array& dx) {
  if (out.weight != nullptr) {
    const LaunchPart part("conv2d_weight_gradient");
    launch_flops(conv_flops(g.shape(), out.weight->shape()));
    Array dw = Array::empty(out.weight->shape(), DType::kF64);
    Array db = Array::empty({g.dim(1)}, DType::kF64);
    plain::conv2d_backward_weights(saved.x.contiguous(), g, saved.geometry, dw, &db);
    write(dw, *out.weight, out.accumulate_weight);
    if (out.bias != nullptr) write(db, *out.bias, out.accumulate_bias);
  }
  if (!dx.defined()) return;
  const LaunchPart part("conv2d_data_gradient");
  launch_flops(conv_flops(g.shape(), saved.weight.shape()));
  dx.copy_from(
      plain::conv2d_backward_data(g, saved.weight.contiguous(), saved.x.shape(), saved.geometry));
}

// The result, in the order that the kernel for it writes.
Array make_output(const Array& x, const Array& weight, const Array& bias,
                  const Conv2dGeometry& geometry, bool relu) {
  const Shape shape = conv2d_shape(x.shape(), weight.shape(), geometry);
  if (x.dtype() == DType::kF64 || shape.num_elements() == 0 ||
      few_channels::applies(x.shape(), weight.shape(), geometry)) {
    return Array::empty(shape, x.dtype(), x.device());
  }
  if (winograd::applies(x.shape(), weight.shape(), geometry) ||
      few_pixels::applies(x.shape(), weight.shape(), geometry) ||
      first_layer::applies(x.shape(), weight.shape(), geometry)) {
    return blocks_of_8(shape, x.dtype(), x.device());
  }
  return onednn::conv2d_output(x, weight, geometry, bias.defined(), relu);
}

void conv_forward_body(const Array& x, const Array& weight, const Array& bias,
                       const Conv2dGeometry& geometry, bool relu, Array& y) {
  if (y.size() == 0) return;
  launch_flops(conv_flops(y.shape(), weight.shape()));
  if (x.dtype() == DType::kF64) {
    y.copy_from(plain::conv2d_forward(x.contiguous(), weight.contiguous(), bias, geometry, relu));
  } else if (winograd::applies(x.shape(), weight.shape(), geometry)) {
    winograd::conv2d_forward(x, weight, bias, geometry, relu, y);
  } else if (few_pixels::applies(x.shape(), weight.shape(), geometry)) {
    few_pixels::conv2d_forward(x, weight, bias, geometry, relu, y);
  } else if (few_channels::applies(x.shape(), weight.shape(), geometry)) {
    few_channels::conv2d_forward(x, weight, bias, geometry, relu, y);
  } else if (first_layer::applies(x.shape(), weight.shape(), geometry)) {
    first_layer::conv2d_forward(x, weight, bias, geometry, relu, y);
  } else {
    onednn::conv2d_forward(x, weight, bias, geometry, relu, y);
  }
}

// The gradient of x, in the order that the kernel for it writes.
Array make_data_gradient(const Array& dy, const Conv2dSaved& saved) {
  const Shape& shape = saved.x.shape();
  if (dy.dtype() == DType::kF64 || dy.size() == 0)
    return Array::empty(shape, dy.dtype(), dy.device());
  if (winograd::applies(shape, saved.weight.shape(), saved.geometry)) {
    return blocks_of_8(shape, dy.dtype(), dy.device());
  }
  return onednn::conv2d_data_gradient(saved.x, saved.weight, saved.geometry);
}

void backward_weights(const Array& g, const Conv2dSaved& saved,
                      const Conv2dWeightGradients& weights) {
  if (few_channels::applies(saved.x.shape(), saved.weight.shape(), saved.geometry)) {
    few_channels::conv2d_backward_weights(g, saved, weights);
  } else {
    onednn::conv2d_backward_weights(saved.x, g, saved.geometry, weights);
  }
}

// What no kernel of ours computes along with the other gradient.
void backward_each(const Array& g, const Conv2dSaved& saved, const Conv2dWeightGradients* weights,
                   Array& dx) {
  const double flops = conv_flops(g.shape(), saved.weight.shape());
  if (weights != nullptr) {
    const LaunchPart part("conv2d_weight_gradient");
    launch_flops(flops);
    backward_weights(g, saved, *weights);
  }
  if (!dx.defined()) return;
  const LaunchPart part("conv2d_data_gradient");
  launch_flops(flops);
  onednn::conv2d_backward_data(g, saved.weight, saved.geometry, dx);
}

// dx is undefined unless wanted.
void conv_backward_body(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                        Array& dx) {
  const Shape& shape = saved.x.shape();
  if (dy.size() == 0) {
    if (out.weight != nullptr && !out.accumulate_weight) out.weight->fill(0.0);
    if (out.bias != nullptr && !out.accumulate_bias) out.bias->fill(0.0);
    if (dx.defined()) dx.fill(0.0);
    return;
  }
  const bool f64 = dy.dtype() == DType::kF64;
  if (!f64 && winograd::applies(shape, saved.weight.shape(), saved.geometry)) {
    winograd::conv2d_backward(dy, saved, out, dx);
    return;
  }
  const bool direct = !f64 && out.weight != nullptr &&
                      direct_weights::applies(shape, saved.weight.shape(), saved.geometry);
  if (direct) {
    const LaunchPart part("conv2d_weight_gradient");
    launch_flops(conv_flops(dy.shape(), saved.weight.shape()));
    direct_weights::conv2d_backward_weights(dy, saved, out);
  }
  if (direct && !dx.defined()) return;
  const Array g = saved.y.defined() ? relu_backward(dy, saved.y) : dy;
  if (f64) {
    backward_plain(g.contiguous(), saved, out, dx);
    return;
  }
  backward_each(g, saved, out.weight != nullptr && !direct ? &out : nullptr, dx);
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

bool conv2d_takes_bf16(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  return conv2d_shape(x, weight, geometry).num_elements() > 0 &&
         winograd::applies_to_bf16(x, weight, geometry);
}

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu) {
  Array y = make_output(x, weight, bias, geometry, relu);
  launch("conv2d", {&x, &weight, &bias}, {&y}, [geometry, relu](LaunchArrays in, LaunchArrays out) {
    conv_forward_body(in[0], in[1], in[2], geometry, relu, out[0]);
  });
  return y;
}

Array conv2d_backward(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                      bool wants_data) {
  Array dx = wants_data ? make_data_gradient(dy, saved) : Array();
  Array none;
  Array* const dw = out.weight != nullptr ? out.weight : &none;
  Array* const db = out.bias != nullptr ? out.bias : &none;
  launch("conv2d_backward", {&dy, &saved.x, &saved.weight, &saved.y}, {dw, db, &dx},
         [geometry = saved.geometry, add_weight = out.accumulate_weight,
          add_bias = out.accumulate_bias](LaunchArrays arrays, LaunchArrays gradients) {
           const Conv2dWeightGradients weights{
               gradients[0].defined() ? &gradients[0] : nullptr, add_weight,
               gradients[1].defined() ? &gradients[1] : nullptr, add_bias};
           conv_backward_body(arrays[0], {arrays[1], arrays[2], arrays[3], geometry}, weights,
                              gradients[2]);
         });
  return dx;
}

}  // namespace weft
