// conv2d and its gradients over Arrays.
//
// f32 runs in our own kernels for 3x3 windows of stride 1 (winograd.h), for few pixels or few
// channels (few_pixels.h, few_channels.h, first_layer.h), with AVX-512 for windows of one pixel and
// for steps (window_conv.h), and for the weight gradients of first layers and of convolutions with
// larger strides (direct_weights.h), otherwise in oneDNN. Both use the memory order that is best
// for them: results are blocked Arrays unless that order is plain, and inputs may be blocked. f64
// (gradient checks) runs in plain loops. oneDNN's preparation for a shape is cached. bf16 and f16
// have sums of f32, which are rounded once, but for 3x3 windows of bf16 where the processor
// multiplies pairs of it: winograd.h says what is rounded there. Kernels read and write bf16 itself
// where whole blocks of channels are convolved (window_conv.h, winograd.h, first_layer.h);
// otherwise arrays are converted. Deterministic: the same input gives the same bits in every run
// and for any thread count (conv_onednn.cpp explains this for the weight gradient). Threads: the
// calling thread and the compute threads; the cache belongs to one thread each.
#pragma once

#include <cstdint>

#include "weft/array/array.h"
#include "weft/array/pair.h"

namespace weft {

// Pairs are {height, width}.
struct Conv2dGeometry {
  Pair stride = 1;
  Pair padding = 0;
  Pair dilation = 1;
  std::int64_t groups = 1;
  friend bool operator==(const Conv2dGeometry&, const Conv2dGeometry&) = default;
};

// [N, O, H', W'] for x [N, C, H, W] and weight [O, C / groups, kh, kw]. REQUIRES: they fit.
Shape conv2d_shape(const Shape& x, const Shape& weight, const Conv2dGeometry& geometry);

// `bias` may be undefined; `relu` fuses max(., 0).
Array conv2d_forward(const Array& x, const Array& weight, const Array& bias,
                     const Conv2dGeometry& geometry, bool relu);

// The values of a forward that the backward needs.
struct Conv2dSaved {
  Array x;
  Array weight;
  Array y;  // only after a fused ReLU
  Conv2dGeometry geometry;
};

// The arrays for the weights' gradients, contiguous, f64 for operands of f64, otherwise f32; with
// `accumulate` the gradients are added.
struct Conv2dWeightGradients {
  Array* weight = nullptr;  // null: not wanted
  bool accumulate_weight = false;
  Array* bias = nullptr;  // only together with `weight`
  bool accumulate_bias = false;
};

// All gradients for the gradient `dy` of the result. Returns dx, undefined unless wanted.
Array conv2d_backward(const Array& dy, const Conv2dSaved& saved, const Conv2dWeightGradients& out,
                      bool wants_data);

}  // namespace weft
