// conv2d and its gradients over Arrays.
//
// f32 runs in own kernels for 3x3 windows of stride 1 (winograd.h) and for the weights of first
// layers and of steps (direct_weights.h), else in oneDNN, in the memory order that is best for
// them: results are blocked Arrays unless that order is plain, and blocked inputs are taken. f64
// (gradient checks) runs in plain loops. What oneDNN prepares for a shape is kept.
// Deterministic: the same input gives the same bits in every run and for any thread count
// (conv_onednn.cpp says how the weight gradient does).
// Threads: the calling thread and the compute threads; the cache belongs to one thread each.
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

// What the backward needs of a forward.
struct Conv2dSaved {
  Array x;
  Array weight;
  Array y;  // only after a fused ReLU
  Conv2dGeometry geometry;
};

// Where the weights' gradients go: contiguous arrays; with `accumulate` they are added to.
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
