// The gradients of conv2d as operations, so that they can be differentiated again.
//
// Both are bilinear; the gradients of each are a convolution and the other of the two. For
// op/conv2d_op.cpp. The shapes fit: conv2d has checked them. Threads: as record().
#pragma once

#include "weft/autograd/tensor.h"
#include "weft/kernel/conv/conv.h"

namespace weft {

// The gradient of x, of `x_shape`, for dy, that of the output of conv2d(x, weight).
Tensor conv2d_backward_data(const Tensor& dy, const Tensor& weight, const Shape& x_shape,
                            const Conv2dGeometry& geometry);
// The gradient of the weight, of `weight_shape`.
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, const Shape& weight_shape,
                              const Conv2dGeometry& geometry);

}  // namespace weft
