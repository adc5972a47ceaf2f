// Elementwise kernels: y[i] = f(a[i]) and y[i] = f(a[i], b[i]) over strided arrays of f32 or f64.
//
// Operands of two broadcast as in NumPy; results are contiguous. Where all strides allow it, axes
// are merged, and the innermost run goes to vectorised loops (rows.h).
// Values depend on neither the thread count nor the instruction set.
// Fails: operands of different or integer types throw std::invalid_argument.
#pragma once

#include "weft/array/array.h"

namespace weft {

enum class UnaryOp { kNeg, kExp, kLog, kTanh, kSigmoid, kSqrt, kAbs };

enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,
  kMaximum,
  // For gradients: a is the gradient of the output y, b is y.
  kTanhGradient,     // a (1 - b b)
  kSigmoidGradient,  // a b (1 - b)
  kSqrtGradient,     // a / (2 b)
  // a is the gradient of the output, b the input.
  kAbsGradient,  // a sign(b), 0 at 0
  // Comparisons give 1 or 0.
  kEqual,
  // 1 where a > b, 1/2 where a = b, else 0: a's part of the gradient of maximum(a, b).
  kMaximumShare,
};

Array unary(UnaryOp op, const Array& a);
Array binary(BinaryOp op, const Array& a, const Array& b);
// The second operand is one value, converted to a's type.
Array binary(BinaryOp op, const Array& a, double b);
Array binary(BinaryOp op, double a, const Array& b);
// Into `out`, which is contiguous, has the broadcast shape and may be the same view as an operand
// that has that shape.
void binary_into(BinaryOp op, const Array& a, const Array& b, Array& out);

// target += source, broadcast to target's shape. REQUIRES: target contiguous, one type.
void accumulate(const Array& source, Array& target);

}  // namespace weft
