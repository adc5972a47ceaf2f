// The weight gradient of a convolution as the plain sum over pixels, for conv.cpp: over images of
// few channels, as the first one of a network has (oneDNN would fill the channels up to 8 with
// zeros and multiply those too), and with steps, where oneDNN is slower.
//
// Sums of 6 weights, or 14 with AVX-512, for 16 outputs stay in registers while the gradients of
// some rows, which stay in the first-level cache, pass by; those of the next rows are fetched
// meanwhile.
// 2 N C O kh kw H' W' flops.
// Deterministic: the same bits for any thread count.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::direct_weights {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// As conv2d_backward of conv.h without dx. REQUIRES: out.weight.
void conv2d_backward_weights(const Array& dy, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out);

}  // namespace weft::direct_weights
