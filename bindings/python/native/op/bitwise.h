// Arithmetic of bits: & | ^ << >> and ~ of whole numbers and of bool.
//
// Operands broadcast and are promoted as for other operators; the results have no history.
// Threads: as kernels. Fails: TypeProblem for floats, and for shifts of bool.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft::python {

enum class BitOperation : unsigned char { kAnd, kOr, kXor, kLeft, kRight };

Tensor bitwise(BitOperation operation, const Tensor& a, const Tensor& b);
Tensor bitwise_not(const Tensor& x);

}  // namespace weft::python
