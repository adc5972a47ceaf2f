// The f32 convolutions of conv.h in oneDNN. For conv.cpp; no shape here is empty.
#pragma once

#include "weft/base/isa/isa.h"
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

// Whether our own loops may be faster than oneDNN on this processor. On x86-64 they are not as long
// as only SSE is there; elsewhere oneDNN has plain loops alone.
inline bool own_loops_are_faster() {
#if defined(__x86_64__)
  return isa_in_use() != Isa::kGeneric;
#else
  return true;
#endif
}

}  // namespace weft::onednn
