// The fully connected layer and the ReLU over Arrays, with their gradients.
//
// f32 runs in gemm and in vectorised loops, f64 (gradient checks) in plain ones; bf16
// and f16 are computed in f32 and rounded at the end.
// Deterministic: the same bits for any thread count.
// Threads: the calling thread and the compute threads.
#pragma once

#include "weft/array/array.h"

namespace weft {

// x [..., in] weight^T [in, out] + bias [out] (may be undefined), then ReLU if asked: [..., out].
// A weight and an x of two axes have any strides, other x are contiguous. One floating type.
Array linear_forward(const Array& x, const Array& weight, const Array& bias, bool relu);

// sums[j] (+)= sum over i of x[i][j] for x [n, out] of any strides; `sums` is contiguous.
void column_sums(const Array& x, Array& sums, bool accumulate);

// max(x, 0). A blocked input gives a blocked result, a strided one a contiguous result.
Array relu_forward(const Array& x);
// dy where y > 0, else 0; in y's order. REQUIRES: equal shapes and types.
Array relu_backward(const Array& dy, const Array& y);

}  // namespace weft
