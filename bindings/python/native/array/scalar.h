// Plain numbers beside Tensors: what Python gives as the other operand of an operator.
//
// Threads: the GIL is held.
#pragma once

#include <Python.h>

#include "weft/autograd/tensor.h"

namespace weft::python {

struct Scalar {
  enum class Kind : unsigned char { kBool, kWhole, kReal };
  Kind kind = Kind::kReal;
  double value = 0.0;
  // The value of a whole number: a double holds those up to 2^53.
  long long exact = 0;
  // Whether `value` is the number.
  bool is_exact() const;
};

// False, without a Python error, if `object` is no number: float, int, bool, or what converts to
// one as NumPy's numbers do. Throws PythonError for whole numbers beyond 64 bits.
bool load_scalar(PyObject* object, Scalar& scalar);

// x in the type that arithmetic with this number gives, if that is not x's: a real number makes
// f32 of integers, also one without a fraction.
Tensor beside(const Tensor& x, const Scalar& scalar);
// The number as a Tensor without axes, of the type that goes with x: a whole number takes an
// integer x's own type if x has no axes either and the type holds the number.
Tensor as_tensor(const Scalar& scalar, const Tensor& x);

}  // namespace weft::python
