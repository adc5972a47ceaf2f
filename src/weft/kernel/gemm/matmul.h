// matmul: products of matrices over Arrays. f32 by gemm (gemm.h), f64 and integers by plain
// loops, bf16 and f16 in f32 and rounded once.
//
// Deterministic: the same bits for any thread count.
// Threads: the calling thread and the compute threads.
#pragma once

#include "weft/array/array.h"

namespace weft {

struct MatmulOptions {
  bool transpose_a = false;  // use the last two axes of a swapped
  bool transpose_b = false;
  bool accumulate = false;  // add to out
};

// out [..., m, n] = a [..., m, k] b [..., k, n] after the transposes. All have the same number of
// axes (2 or more) and one type; leading axes of a and b are equal to those of out or 1.
// `out` is contiguous and overlaps neither input; a and b have any strides. k = 0 gives zeros.
// REQUIRES: the shapes fit (the op has checked them).
void matmul(const Array& a, const Array& b, Array& out, const MatmulOptions& options = {});

}  // namespace weft
