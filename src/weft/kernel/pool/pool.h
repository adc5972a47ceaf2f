// Pooling over images [N, C, H, W] and its gradients, f32 and f64; bf16 where
// max_pool2d_takes_bf16() and adaptive_max_pool2d_takes_bf16().
//
// Channels in blocks stay in blocks: a blocked input gives a blocked result, except for adaptive
// means and adaptive windows of several sizes, whose results are contiguous. Padding is at most
// half the window, so every window holds at least one value.
// Deterministic: the same bits for any thread count.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>

#include "weft/array/array.h"
#include "weft/array/pair.h"

namespace weft {

// Pairs are {height, width}; the stride is at least 1.
struct Pool2dGeometry {
  Pair kernel = 2;
  Pair stride = 2;
  Pair padding = 0;
  // Also windows that begin on the padded image but reach over its end.
  bool ceil_mode = false;
  // For means: padding counts as zeros, otherwise it does not count.
  bool count_include_pad = true;
};

Shape pool2d_shape(const Shape& x, const Pool2dGeometry& geometry);

// Which position of its window gave each result, in the order of y; row-major in the window.
// `winners` is left undefined unless wanted.
struct MaxPoolOutput {
  Array y;
  Array winners;
};
MaxPoolOutput max_pool2d_forward(const Array& x, const Pool2dGeometry& geometry, bool with_winners);
// Whether max_pool2d_forward() and max_pool2d_backward() take such an x of bf16 as it is.
bool max_pool2d_takes_bf16(const Array& x, const Pool2dGeometry& geometry);

// dx of shape `x_shape`, in the order of `y`, which the forward gave with `winners`.
Array max_pool2d_backward(const Array& dy, const MaxPoolOutput& forward, const Shape& x_shape,
                          const Pool2dGeometry& geometry);

// The transpose of that: of an array of x's shape, the values that were the windows' largest.
Array max_pool2d_take(const Array& dx, const MaxPoolOutput& forward,
                      const Pool2dGeometry& geometry);

Array avg_pool2d_forward(const Array& x, const Pool2dGeometry& geometry);
// dx in dy's order.
Array avg_pool2d_backward(const Array& dy, const Shape& x_shape, const Pool2dGeometry& geometry);

// `size` windows {down, across} of about equal size that cover the image; window i of n over s
// pixels is [floor(i s / n), ceil((i + 1) s / n)). Winners are places in the image, or in
// the window where all have one size.
Array adaptive_avg_pool2d_forward(const Array& x, const Pair& size);
Array adaptive_avg_pool2d_backward(const Array& dy, const Shape& x_shape);
MaxPoolOutput adaptive_max_pool2d_forward(const Array& x, const Pair& size, bool with_winners);
// Whether adaptive_max_pool2d_forward() and its gradient take such an x of bf16 as it is.
bool adaptive_max_pool2d_takes_bf16(const Array& x, const Pair& size);
Array adaptive_max_pool2d_backward(const Array& dy, const MaxPoolOutput& forward,
                                   const Shape& x_shape);
Array adaptive_max_pool2d_take(const Array& dx, const MaxPoolOutput& forward);

}  // namespace weft
