// The types of operands: what several of them become together. For op/*_op.cpp.
//
// All throw std::invalid_argument on undefined operands and on shapes that do not broadcast.
#pragma once

#include "weft/autograd/tensor.h"

namespace weft {

struct Operands {
  Tensor a;
  Tensor b;
};

// Throws unless both are defined and their shapes broadcast.
void check_broadcast(const char* op, const Tensor& a, const Tensor& b);
// Whether two operands must be promoted before a kernel takes them.
inline bool differ(const Tensor& a, const Tensor& b) { return a.dtype() != b.dtype(); }

// The type of operands together: promote_types of theirs (dtype.h), but a value without axes widens
// an array only if it is of a higher kind (bool < integers < floats), as in PyTorch.
DType promoted_type(const Tensor& a, const Tensor& b);
// Both cast to that, differentiably.
Operands promote(const char* op, const Tensor& a, const Tensor& b);
// The same, and to f32 if that is an integer type or bool: for division and the like.
Operands promote_floating(const char* op, const Tensor& a, const Tensor& b);
// x, cast to f32 if it is an integer or bool.
Tensor floating_operand(const char* op, const Tensor& x);
// x, cast for arithmetic with `value`: integers keep their type with a whole number and become f32
// with any other; bool becomes i64 or f32.
Tensor operand_beside(const char* op, const Tensor& x, double value);

// 0 for bool, 1 for integers, 2 for floats.
inline int kind_of(DType dtype) { return is_floating(dtype) ? 2 : is_integer(dtype) ? 1 : 0; }

// The type in which a count is added to values of x: i64 for integers and bool.
inline DType count_type(const Tensor& x) {
  return is_floating(x.dtype()) ? x.dtype() : DType::kI64;
}

}  // namespace weft
