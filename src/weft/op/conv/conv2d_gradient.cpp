#include "weft/op/conv/conv2d_gradient.h"

#include "weft/autograd/node.h"
#include "weft/op/conv.h"

namespace weft {
namespace {

Tensor convolve(const Tensor& x, const Tensor& weight, const Conv2dGeometry& geometry) {
  return conv2d(x, weight, {},
                {.stride = geometry.stride,
                 .padding = geometry.padding,
                 .dilation = geometry.dilation,
                 .groups = geometry.groups});
}

Array data_gradient(const Array& dy, const Array& weight, const Shape& x_shape,
                    const Conv2dGeometry& geometry) {
  // Only the shape and the type of x are used.
  const Conv2dSaved saved{Array::zeros(x_shape, dy.dtype(), dy.device()), weight, Array(),
                          geometry};
  return conv2d_backward(dy, saved, {}, true);
}

Array conv2d_weight_gradient(const Array& dy, const Array& x, const Shape& weight_shape,
                             const Conv2dGeometry& geometry) {
  const Conv2dSaved saved{x, Array::zeros(weight_shape, dy.dtype(), dy.device()), Array(),
                          geometry};
  Array gradient = Array::empty(weight_shape, dy.dtype(), dy.device());
  Conv2dWeightGradients out;
  out.weight = &gradient;
  conv2d_backward(dy, saved, out, false);
  return gradient;
}

}  // namespace

Tensor conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Shape& x_shape,
                            const Conv2dGeometry& geometry) {
  return record(
      "conv2d_backward_data", data_gradient(dy.array(), weight.array(), x_shape, geometry),
      {&dy, &weight},
      [g = dy.array(), w = weight.array(), geometry](const Array& gradient,
                                                     const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, conv2d_forward(gradient, w, Array(), geometry, false));
        if (dx.needs(1)) dx.add(1, conv2d_weight_gradient(g, gradient, w.shape(), geometry));
      },
      [g = dy.array(), w = weight.array(), geometry](const Tensor& gradient,
                                                     const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, convolve(gradient, dx.input(1, w), geometry));
        if (dx.needs(1)) {
          dx.add(1, conv2d_backward_weight(dx.input(0, g), gradient, w.shape(), geometry));
        }
      });
}

Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, const Shape& weight_shape,
                              const Conv2dGeometry& geometry) {
  return record(
      "conv2d_backward_weight",
      conv2d_weight_gradient(dy.array(), x.array(), weight_shape, geometry), {&dy, &x},
      [g = dy.array(), in = x.array(), geometry](const Array& gradient, const InputGradients& dx) {
        if (dx.needs(0)) dx.add(0, conv2d_forward(in, gradient, Array(), geometry, false));
        if (dx.needs(1)) dx.add(1, data_gradient(g, gradient, in.shape(), geometry));
      },
      [g = dy.array(), in = x.array(), geometry](const Tensor& gradient,
                                                 const TensorGradients& dx) {
        if (dx.needs(0)) dx.add(0, convolve(dx.input(1, in), gradient, geometry));
        if (dx.needs(1)) {
          dx.add(1, conv2d_backward_data(dx.input(0, g), gradient, in.shape(), geometry));
        }
      });
}

}  // namespace weft
