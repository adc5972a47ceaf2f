// 3x3 convolutions of stride 1 by Winograd's minimal filtering: 36 products for a 4x4 tile of
// results instead of 144. For conv.cpp; f32 and bf16, no shape here is empty.
//
// IMPLEMENTATION: Lavin, Gray, "Fast algorithms for convolutional neural networks", CVPR 2016,
// section 4.1, F(4x4, 3x3), with other points (winograd_lines.inc); the gradients are the adjoints
// of the same three transforms, so they share the transformed tiles. Images and results are in
// blocks of 8 channels. Tiles go through all steps in groups, and the filters of large layers in
// chunks, so that transformed values stay in the caches. For N images of T tiles, C and O channels
// a product takes 72 N T C O flops. Images of bf16 are read and written as they are. Where the
// processor multiplies pairs of bf16 and both sides have 32 channels or more, transformed tiles and
// filters are rounded to it, which costs about 1 % of a result's size (the root of the mean
// square). Sums are f32, and results are rounded once. Deterministic: the same bits for any thread
// count: sums of weight gradients go through groups that depend on shapes alone, and a result of a
// forward pass depends on its own tile only.
#pragma once

#include "weft/kernel/conv/conv.h"

namespace weft::winograd {

// Whether this processor and shape have it.
bool applies(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `y` is in blocks of 8, and of the type of x, weight and bias.
void conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                    const Conv2dGeometry& geometry, bool relu, Array& y);

// As conv.h's conv2d_backward; `dx` is in blocks of 8, undefined unless wanted. The gradients of
// weights are f32.
void conv2d_backward(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                     Array& dx);

}  // namespace weft::winograd
