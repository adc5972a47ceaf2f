// Forward convolutions with few input and output channels, in f32. For conv.cpp.
//
// In the first layers of a small network (LeNet's 1 -> 6 -> 16 channels) a register of channels
// would be mostly empty, so a register holds adjacent pixels instead: each value of a filter meets
// a run of an image's pixels. Images are padded first, and a whole image is one run, whose results
// between two rows mean nothing and are left out.
// Each sum is over the values of a filter in their order. Deterministic: the same bits for any
// thread count.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::few_channels {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `y` is contiguous.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);

}  // namespace weft::few_channels
