// The f32 convolutions of conv.h in oneDNN. For conv.cpp; no shape here is empty.
#pragma once

#include "weft/kernel/conv.h"

namespace weft::onednn {

Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu);
Array conv2d_backward_data(const Array& dy, const Array& weight, const Shape& x_shape,
                           const Conv2dGeometry& geometry);
void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out);

}  // namespace weft::onednn
