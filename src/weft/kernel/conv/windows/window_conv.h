// Convolutions of whole blocks of channels as products with their windows, in f32 and bf16, with
// both gradients. For conv.cpp.
//
// Tiles of results read their windows where the images lie (window_tiles.h) and are multiplied with
// packed filters: no matrix of all windows exists. The gradient of x is one such product for each
// place of a pixel within a step, with those taps of the filters that reach it. The gradient of the
// filters is the transposed matrix of windows, of which a thread gathers a part at a time, times
// dy.
//
// bf16 is read and written as it is: multiplied in pairs where the processor does so, otherwise
// widened while windows are gathered. All sums are f32; results are rounded once.
//
// Deterministic: the same bits for any thread count. A result is summed over gemm_depth() values of
// its window at a time, a filter's gradient over 384 results at a time, in their order.
//
// Sources: windows as rows of a matrix ("im2col") are of Chellapilla, Puri, Simard, "High
// performance convolutional neural networks for document processing", 2006, section 3.
// Threads: the calling thread and the compute threads. Fails: never.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::windows {

// Whether they are the fastest on this processor for such arrays. REQUIRES of the others: one
// group, and whole blocks of 8 channels on both sides.
bool applies(DType dtype, const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// x [N, C, H, W], weight [O, C, kh, kw], bias [O] or undefined and y [N, O, H', W'] are of one
// type, f32 or bf16; `y` and `dx` are in blocks of 8.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);
void conv2d_backward_data(const Array& dy, const Array& weight, const Conv2dGeometry& geometry,
                          Array& dx);
// `g` is the gradient before the activation.
void conv2d_backward_weights(const Array& x, const Array& g, const Conv2dGeometry& geometry,
                             const Conv2dWeightGradients& out);

}  // namespace weft::windows
