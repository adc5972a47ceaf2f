// Convolutions of whole blocks of channels as products with their windows, in f32 and bf16, with
// both gradients. For conv.cpp.
//
// A thread gathers the windows of some results (windows.h) into a part of a matrix that stays in
// its caches, and multiplies it with packed filters: no matrix of all windows exists. The gradient
// of x is one such product for each place of a pixel within a step, with those taps of the filters
// that reach it. The gradient of the filters is the transposed matrix of windows times dy. bf16 is
// read and written as it is: multiplied in pairs where the processor does so, otherwise widened
// while it is gathered. All sums are f32; results are rounded once. Deterministic: the same bits
// for any thread count. A result is summed over gemm_depth() values of its window at a time; a
// filter's gradient over kPixelsAtOnce results at a time, in their order. Sources: im2col is of
// Chellapilla, Puri, Simard, "High performance convolutional neural networks for document
// processing", 2006, section 3; blocks as in gemm.h.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::windows {

// Whether they are the fastest on this processor for such arrays. REQUIRES of the others: one
// group, and whole blocks of 8 channels on both sides.
bool applies(DType dtype, const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// x, weight, bias and y are of one type, f32 or bf16; `y` and `dx` are in blocks of 8.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);
void conv2d_backward_data(const Array& dy, const Array& weight, const Conv2dGeometry& geometry,
                          Array& dx);
// `g` is the gradient before the activation.
void conv2d_backward_weights(const Array& x, const Array& g, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out);

}  // namespace weft::windows
