// Convolutions with few results per filter as one matrix product, in f32. For conv.cpp.
//
// The last layers of a network, for a single image, read large filters for little work: here packed
// filters (kernel/core/prepared_weights.h) stream through the product, and all threads share them.
// Minimal filtering would read four times as many bytes, and oneDNN's loops run on one thread.
// The windows are copied to rows first ("im2col"), with 8 channels of a pixel side by side. A sum
// is one of gemm.h's, over the values of a window in that order. Deterministic: the same bits for
// any thread count.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::few_pixels {

// Whether this processor and shape have it. The channels are whole blocks of 8.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `y` is in blocks of 8.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);

}  // namespace weft::few_pixels
