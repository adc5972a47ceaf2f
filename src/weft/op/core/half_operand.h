// bf16 and f16 for ops whose kernels have f32 and f64 only: compute in f32, round once.
//
//   if (is_half(x)) return cast(conv1d(widened(x), widened(weight), widened(bias)), x.dtype());
//
// For op/*_op.cpp. Casts are differentiable, so the gradients are computed in f32 too.
#pragma once

#include "weft/kernel/elementwise/convert.h"
#include "weft/op/arithmetic.h"

namespace weft {

inline bool is_half(const Tensor& x) {
  return x.defined() && (x.dtype() == DType::kBF16 || x.dtype() == DType::kF16);
}

// x, in f32 if it is bf16 or f16; undefined stays so.
inline Tensor widened(const Tensor& x) { return is_half(x) ? cast(x, DType::kF32) : x; }

// `a` in the type that is computed in: f64 stays, others become f32; undefined stays so.
inline Array computed(const Array& a) {
  return a.defined() && a.dtype() != DType::kF64 ? convert(a, DType::kF32) : a;
}

}  // namespace weft
