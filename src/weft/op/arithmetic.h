// Elementwise operations. Two operands broadcast as in NumPy.
//
// Types, as in PyTorch: operands are promoted to one type (promote_types in array/dtype/dtype.h);
// bf16 and f16 compute in f32 and round once; integers wrap around; functions of real numbers
// (division, exp, ...) turn integers and bool into f32. A tensor without axes does not widen one
// with axes unless it is of a higher kind, nor does a plain number: with a whole number (which
// wraps around too) an integer tensor keeps its type, with any other number it becomes f32. On
// bool, add and maximum are "or", mul and minimum "and"; sub and neg are refused. All throw
// std::invalid_argument on operands that do not fit. Results are contiguous.
#pragma once

#include <stdexcept>

#include "weft/autograd/tensor.h"

namespace weft {

// Integers have no quotient by 0.
class DivisionByZero : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
// The larger (smaller) value, NaN if either is; where they are equal each operand gets half the
// gradient.
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
// a^b. The gradient of b is 0 where a is 0.
Tensor pow(const Tensor& a, const Tensor& b);
// a - b floor(a / b): the sign of b, as Python's %. floor_divide is Python's //. Integers throw
// DivisionByZero if an element of b is 0; a replay of a captured graph does not throw and gives 0
// there. The smallest integer divided by -1 wraps around to itself.
Tensor remainder(const Tensor& a, const Tensor& b);
Tensor floor_divide(const Tensor& a, const Tensor& b);
// The angle of the point (b, a), in [-pi, pi].
Tensor atan2(const Tensor& a, const Tensor& b);

// The same values in another type, by convert_value() of array/dtype/dtype.h; x itself if it has
// that type. Differentiable between floating types.
Tensor cast(const Tensor& x, DType dtype);

Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);
Tensor div(const Tensor& a, double b);
// b / a for every element.
Tensor div(double b, const Tensor& a);
Tensor neg(const Tensor& a);
// For integers the exponent must not be negative.
Tensor pow(const Tensor& a, double exponent);
Tensor square(const Tensor& a);
// 1 / sqrt(a) and 1 / a.
Tensor rsqrt(const Tensor& a);
Tensor reciprocal(const Tensor& a);
// To [low, high]; the gradient is 1 inside, limits included, and 0 outside. Integers with bounds
// that are not whole become f32.
Tensor clamp(const Tensor& a, double low, double high);

// Down, up, to the nearest (ties to even), towards 0; the gradient is 0. Integers stay as they are.
Tensor floor(const Tensor& a);
Tensor ceil(const Tensor& a);
Tensor round(const Tensor& a);
Tensor trunc(const Tensor& a);
// -1, 0 or 1, NaN of NaN; the gradient is 0.
Tensor sign(const Tensor& a);

Tensor exp2(const Tensor& a);
// e^a - 1 and log(1 + a), accurate near 0.
Tensor expm1(const Tensor& a);
Tensor log1p(const Tensor& a);
Tensor log2(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor cos(const Tensor& a);
// The error function.
Tensor erf(const Tensor& a);
Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor tanh(const Tensor& a);
// Stable for any argument.
Tensor sigmoid(const Tensor& a);
Tensor sqrt(const Tensor& a);
// The gradient at 0 is 0.
Tensor abs(const Tensor& a);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a, double b) { return add(a, b); }
inline Tensor operator+(double a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, double b) { return add(a, -b); }
inline Tensor operator-(double a, const Tensor& b) { return add(neg(b), a); }
inline Tensor operator*(const Tensor& a, double b) { return mul(a, b); }
inline Tensor operator*(double a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, double b) { return div(a, b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }

}  // namespace weft
