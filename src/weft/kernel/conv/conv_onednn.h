// The f32 convolutions of conv.h in oneDNN. For conv.cpp; no shape here is empty.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::onednn {

// A new array on the device of x in the order that the forward writes, and the forward.
Array conv2d_output(const Array& x, const Array& weight, const Conv2dGeometry& geometry, bool bias,
                    bool relu);
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);
// The same for the gradient of x.
Array conv2d_data_gradient(const Array& x, const Array& weight, const Conv2dGeometry& geometry);
void conv2d_backward_data(const Array& dy, const Array& weight, const Conv2dGeometry& geometry,
                          Array& dx);
void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out);

}  // namespace weft::onednn
