// The weight gradient of a convolution over images of few channels, as the first one of a network
// has; for conv.cpp. oneDNN would fill the channels up to 8 with zeros and multiply those too.
//
// Outputs are in blocks of 8; a few rows of their gradients stay in the first-level cache while
// all taps of the filters pass by. 2 N C O kh kw H' W' flops.
// Deterministic: the same bits for any thread count.
#pragma once

#include "weft/kernel/conv.h"

namespace weft::few_channels {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// As conv2d_backward of conv.h without dx. REQUIRES: out.weight.
void conv2d_backward_weights(const Array& dy, const Conv2dSaved& saved,
                             const Conv2dWeightGradients& out);

}  // namespace weft::few_channels
