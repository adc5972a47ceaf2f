// Convolution by plain f64 loops: for gradient checks, and the tests' oracle of oneDNN's.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::plain {

// Arrays are contiguous f64.
Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu);
Array conv2d_backward_data(const Array& dy, const Array& weight, const Shape& x_shape,
                           const Conv2dGeometry& geometry);
// dw gets the gradient of the weights, db (may be null) that of the bias; both are overwritten.
void conv2d_backward_weights(const Array& x, const Array& dy, const Conv2dGeometry& geometry,
                             Array& dw, Array* db);

}  // namespace weft::plain
