// Convolutions and their weight gradients with few input and output channels, in f32. For conv.cpp.
//
// In the first layers of a small network (LeNet's 1 -> 6 -> 16 channels) a register of channels
// would be mostly empty, so a register holds adjacent pixels instead: each value of a filter meets
// a run of an image's pixels. Images are padded first, and a whole image is one run, whose results
// between two rows mean nothing and are left out.
// Each sum of a forward convolution is over the values of a filter in their order. A weight
// gradient is the product of two runs, of pixels and of gradients, with zeros between the rows of
// these; it is summed over eight lanes, and then over them. Deterministic: the same bits for any
// thread count.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::few_channels {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `y` is contiguous.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);

// As conv2d_backward of conv.h without dx, from a gradient `g` that ReLU has masked already.
// REQUIRES: out.weight, and applies().
void conv2d_backward_weights(const Array& g, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out);

}  // namespace weft::few_channels
