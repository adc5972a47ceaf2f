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

// Both cast to promote_types of theirs (dtype.h), differentiably.
Operands promote(const char* op, const Tensor& a, const Tensor& b);
// The same, and to f32 if that is an integer type or bool: for division and the like.
Operands promote_floating(const char* op, const Tensor& a, const Tensor& b);
// x, cast to f32 if it is an integer or bool.
Tensor floating_operand(const char* op, const Tensor& x);
// x, cast so that arithmetic with `value` means something: integers stay what they are beside a
// whole number and become f32 beside another; bool becomes i64 or f32.
Tensor operand_beside(const char* op, const Tensor& x, double value);

// The type in which a count beside values of x is added to them: i64 for integers and bool.
inline DType count_type(const Tensor& x) {
  return is_floating(x.dtype()) ? x.dtype() : DType::kI64;
}

}  // namespace weft
