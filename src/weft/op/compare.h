// Comparisons, tests and logic, which return bool and take no gradient; where() chooses by them.
//
// Two operands broadcast and are promoted (dtype.h). NaN is unequal to everything. The operators,
// including ==, compare element by element, too: all(x == y) is one truth value.
// std::invalid_argument on operands that do not fit.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
// With one value: integers are compared exactly, also with fractions and beyond their range.
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);

inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator==(const Tensor& a, double b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, double b) { return ne(a, b); }
inline Tensor operator<(const Tensor& a, double b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, double b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, double b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, double b) { return ge(a, b); }

// Values that are not 0 are true.
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_xor(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& a);

Tensor isnan(const Tensor& a);
Tensor isinf(const Tensor& a);
Tensor isfinite(const Tensor& a);

// |a - b| <= absolute + relative |b|, or equal; and whether all are (reads the values).
struct Tolerance {
  double relative = 1e-5;
  double absolute = 1e-8;
};
Tensor isclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance = {});
bool allclose(const Tensor& a, const Tensor& b, const Tolerance& tolerance = {});

// a where `condition` (bool) is true, else b; the three broadcast, a and b are promoted. The
// gradient goes to the chosen values.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
// The value has the type of the other operand.
Tensor where(const Tensor& condition, const Tensor& a, double b);
Tensor where(const Tensor& condition, double a, const Tensor& b);

}  // namespace weft
