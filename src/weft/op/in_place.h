// Operations that write their result into the memory of their first operand.
//
// `x` gets the history of the operation, and so do other tensors that show its memory: views, what
// x is a view of, other handles. The backward of an operation that has saved the old values throws.
// A leaf that takes a gradient is refused unless no history is recorded (NoGrad), as when an
// optimizer changes it; so is a view of one. docs/autograd.md has all the rules.
//
// The result keeps x's type: other operands are converted to it, but floats are not put into
// integers, nor numbers into bool, except by copy_ and fill_, which convert.
// Threads: as record().
// Fails: std::invalid_argument as above, if `other` does not broadcast to x's shape, or x is a view
// whose elements share memory.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

// x += scale * other.
Tensor& add_(Tensor& x, const Tensor& other, double scale = 1.0);
Tensor& add_(Tensor& x, double value);
Tensor& sub_(Tensor& x, const Tensor& other);
Tensor& mul_(Tensor& x, const Tensor& other);
Tensor& mul_(Tensor& x, double value);
// For floating values alone.
Tensor& div_(Tensor& x, const Tensor& other);
Tensor& div_(Tensor& x, double value);
// Gradients do not go on below these two, but to `source`.
Tensor& copy_(Tensor& x, const Tensor& source);
Tensor& fill_(Tensor& x, double value);
Tensor& zero_(Tensor& x);
// x[...] = source, where `part` is a view of x.array(); `source` broadcasts to it. REQUIRES: x is
// strided.
Tensor& write_part_(Tensor& x, Array part, const Tensor& source);

inline Tensor& operator+=(Tensor& x, const Tensor& other) { return add_(x, other); }
inline Tensor& operator-=(Tensor& x, const Tensor& other) { return sub_(x, other); }
inline Tensor& operator*=(Tensor& x, const Tensor& other) { return mul_(x, other); }
inline Tensor& operator/=(Tensor& x, const Tensor& other) { return div_(x, other); }
inline Tensor& operator+=(Tensor& x, double value) { return add_(x, value); }
inline Tensor& operator-=(Tensor& x, double value) { return add_(x, -value); }
inline Tensor& operator*=(Tensor& x, double value) { return mul_(x, value); }
inline Tensor& operator/=(Tensor& x, double value) { return div_(x, value); }

}  // namespace weft
