// Convolutions of images of few channels by many filters, as a network begins with: direct sums of
// pixels for 16 or 32 filters at once, in registers. For conv.cpp; f32 and bf16, no shape is empty.
//
// oneDNN is about as fast there, but writes an order of its own, which the layers behind it would
// copy to blocks of 8 channels, forward and backward. 2 N C O kh kw H' W' flops.
// Deterministic: the same bits for any thread count.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::first_layer {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `y` is in blocks of 8, and of the type of x, weight and bias: f32 or bf16.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);

}  // namespace weft::first_layer
