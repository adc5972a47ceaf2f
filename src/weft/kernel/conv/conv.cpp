#include "weft/kernel/conv/conv.h"

#include "weft/array/launch.h"
#include "weft/kernel/conv/conv_onednn.h"
#include "weft/kernel/conv/conv_plain.h"
#include "weft/kernel/conv/direct_weights.h"
#include "weft/kernel/conv/few/few_channels.h"
#include "weft/kernel/conv/few/few_pixels.h"
#include "weft/kernel/conv/few/first_layer.h"
#include "weft/kernel/conv/windows/window_conv.h"
#include "weft/kernel/conv/winograd/winograd.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/elementwise/convert.h"
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

// Which kernel computes the results of such operands, the first that applies.
enum class ConvKernel : std::uint8_t {
  kPlain,
  kWinograd,
  kFewPixels,
  kFewChannels,
  kFirstLayer,
  kWindows,
  kOnednn
};

ConvKernel kernel_of(DType dtype, const Shape& x, const Shape& weight,
                     const Conv2dGeometry& geometry) {
  if (dtype == DType::kF64) return ConvKernel::kPlain;
  if (winograd::applies(x, weight, geometry)) return ConvKernel::kWinograd;
  if (few_pixels::applies(x, weight, geometry)) return ConvKernel::kFewPixels;
  if (few_channels::applies(x, weight, geometry)) return ConvKernel::kFewChannels;
  if (first_layer::applies(x, weight, geometry)) return ConvKernel::kFirstLayer;
  if (windows::applies(dtype, x, weight, geometry)) return ConvKernel::kWindows;
  return ConvKernel::kOnednn;
}

// Whether the kernels take arrays of bf16 as they are, for the results and for all gradients.
bool forward_takes_bf16(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  const ConvKernel kernel = kernel_of(DType::kBF16, x, weight, geometry);
  return kernel == ConvKernel::kFirstLayer || kernel == ConvKernel::kWinograd ||
         kernel == ConvKernel::kWindows;
}
bool backward_takes_bf16(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry) {
  return winograd::applies(x, weight, geometry) ||
         windows::applies(DType::kBF16, x, weight, geometry);
}

// Elsewhere bf16 and f16 compute in f32 and round once.
Array single(const Array& x) { return x.defined() ? convert(x, DType::kF32) : x; }

// The result, in the order that the kernel for it writes.
Array make_output(const Array& x, const Array& weight, const Array& bias,
                  const Conv2dGeometry& geometry, bool relu) {
  const Shape shape = conv2d_shape(x.shape(), weight.shape(), geometry);
  if (shape.num_elements() == 0) return Array::empty(shape, x.dtype(), x.device());
  switch (kernel_of(x.dtype(), x.shape(), weight.shape(), geometry)) {
    case ConvKernel::kPlain:
    case ConvKernel::kFewChannels:
      return Array::empty(shape, x.dtype(), x.device());
    case ConvKernel::kWinograd:
    case ConvKernel::kFewPixels:
    case ConvKernel::kFirstLayer:
    case ConvKernel::kWindows:
      return blocks_of_8(shape, x.dtype(), x.device());
    case ConvKernel::kOnednn:
      break;
  }
  return onednn::conv2d_output(x, weight, geometry, bias.defined(), relu);
}

void conv_forward_body(const Array& x, const Array& weight, const Array& bias,
                       const Conv2dGeometry& geometry, bool relu, Array& y) {
  if (y.size() == 0) return;
  launch_flops(conv_flops(y.shape(), weight.shape()));
  switch (kernel_of(x.dtype(), x.shape(), weight.shape(), geometry)) {
    case ConvKernel::kPlain:
      y.copy_from(plain::conv2d_forward(x.contiguous(), weight.contiguous(), bias, geometry, relu));
      return;
    case ConvKernel::kWinograd:
      return winograd::conv2d_forward(x, weight, bias, geometry, relu, y);
    case ConvKernel::kFewPixels:
      return few_pixels::conv2d_forward(x, weight, bias, geometry, relu, y);
    case ConvKernel::kFewChannels:
      return few_channels::conv2d_forward(x, weight, bias, geometry, relu, y);
    case ConvKernel::kFirstLayer:
      return first_layer::conv2d_forward(x, weight, bias, geometry, relu, y);
    case ConvKernel::kWindows:
      return windows::conv2d_forward(x, weight, bias, geometry, relu, y);
    case ConvKernel::kOnednn:
      return onednn::conv2d_forward(x, weight, bias, geometry, relu, y);
  }
}

bool has_windows(DType dtype, const Conv2dSaved& saved) {
  return windows::applies(dtype, saved.x.shape(), saved.weight.shape(), saved.geometry);
}

// The gradient of x, in the order that the kernel for it writes.
Array make_data_gradient(const Array& dy, const Conv2dSaved& saved) {
  const Shape& shape = saved.x.shape();
  if (dy.dtype() == DType::kF64 || dy.size() == 0)
    return Array::empty(shape, dy.dtype(), dy.device());
  if (winograd::applies(shape, saved.weight.shape(), saved.geometry) ||
      has_windows(dy.dtype(), saved)) {
    return blocks_of_8(shape, dy.dtype(), dy.device());
  }
  return onednn::conv2d_data_gradient(saved.x, saved.weight, saved.geometry);
}

void backward_weights(const Array& g, const Conv2dSaved& saved,
                      const Conv2dWeightGradients& weights) {
  if (few_channels::applies(saved.x.shape(), saved.weight.shape(), saved.geometry)) {
    few_channels::conv2d_backward_weights(g, saved, weights);
  } else if (has_windows(g.dtype(), saved)) {
    windows::conv2d_backward_weights(saved.x, g, saved.geometry, weights);
  } else {
    onednn::conv2d_backward_weights(saved.x, g, saved.geometry, weights);
  }
}

void backward_data(const Array& g, const Conv2dSaved& saved, Array& dx) {
  if (has_windows(g.dtype(), saved)) {
    windows::conv2d_backward_data(g, saved.weight, saved.geometry, dx);
  } else {
    onednn::conv2d_backward_data(g, saved.weight, saved.geometry, dx);
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
  backward_data(g, saved, dx);
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
  const bool direct = !f64 && out.weight != nullptr && !has_windows(dy.dtype(), saved) &&
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

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu) {
  if (is_half(x.dtype()) &&
      !(x.dtype() == DType::kBF16 && forward_takes_bf16(x.shape(), weight.shape(), geometry))) {
    return convert(conv2d_forward(single(x), single(weight), single(bias), geometry, relu),
                   x.dtype());
  }
  Array y = make_output(x, weight, bias, geometry, relu);
  launch("conv2d", {&x, &weight, &bias}, {&y}, [geometry, relu](LaunchArrays in, LaunchArrays out) {
    conv_forward_body(in[0], in[1], in[2], geometry, relu, out[0]);
  });
  return y;
}

Array conv2d_backward(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                      bool wants_data) {
  if (is_half(dy.dtype()) &&
      !(dy.dtype() == DType::kBF16 &&
        backward_takes_bf16(saved.x.shape(), saved.weight.shape(), saved.geometry))) {
    const Conv2dSaved wide{single(saved.x), single(saved.weight), single(saved.y), saved.geometry};
    const Array dx = conv2d_backward(single(dy), wide, out, wants_data);
    return wants_data ? convert(dx, dy.dtype()) : dx;
  }
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
