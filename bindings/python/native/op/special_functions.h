// Functions of one number or two that have no kernel of their own: tan, lgamma, erfinv, fmod, ...
//
// Each is computed in double precision and rounded to the type of its operands, or to the default
// type for whole numbers. Their slopes are written in Python, weft/_names/special.py.
// Threads: as kernels. Fails: std::invalid_argument for a name that is not in the tables.
#pragma once

#include <string>
#include <vector>

#include "weft/autograd/tensor.h"

namespace weft::python {

Tensor special(const std::string& name, const Tensor& x);
Tensor special_of_two(const std::string& name, const Tensor& a, const Tensor& b);
// The next value of the type after each of a in the direction of b; float32 or float64.
Tensor next_after(const Tensor& a, const Tensor& b);

}  // namespace weft::python
