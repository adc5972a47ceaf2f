// Elementwise operations. Two operands broadcast as in NumPy and must have one floating type.
//
// All throw std::invalid_argument on operands that do not fit. Results are contiguous.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
// The larger value, NaN if either is; where they are equal each operand gets half the gradient.
Tensor maximum(const Tensor& a, const Tensor& b);

Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);
// b / a for every element.
Tensor div(double b, const Tensor& a);
Tensor neg(const Tensor& a);
Tensor pow(const Tensor& a, double exponent);

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
inline Tensor operator/(const Tensor& a, double b) { return mul(a, 1.0 / b); }
inline Tensor operator/(double a, const Tensor& b) { return div(a, b); }

}  // namespace weft
