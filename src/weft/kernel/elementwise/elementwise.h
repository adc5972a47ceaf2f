// Elementwise kernels: y[i] = f(a[i]) and y[i] = f(a[i], b[i]) over strided arrays.
//
// Operands of two broadcast as in NumPy and have one type; results are contiguous. Types: f32 and
// f64 have vector loops (rows.h); bf16 and f16 are computed in f32 and rounded once; integers wrap
// around and have the operations that make sense for them; bool has comparisons, logic, kMaximum
// and kMinimum. An integer modulo or divided by 0 gives 0.
// Where all strides allow it, axes are merged. Values depend on neither the thread count nor the
// instruction set. Captured graphs may fuse chains of these (array/launch.h).
// Fails: operands of different types, and types that lack the operation, throw
// std::invalid_argument.
#pragma once

#include <array>
#include <cstdint>

#include "weft/array/array.h"
#include "weft/kernel/core/elementwise_ops.h"

namespace weft {

#define WEFT_ENUMERATOR(Name) k##Name,
enum class UnaryOp : std::uint8_t { WEFT_UNARY_OPS(WEFT_ENUMERATOR) };
enum class BinaryOp : std::uint8_t { WEFT_BINARY_OPS(WEFT_ENUMERATOR) };
#undef WEFT_ENUMERATOR

// s and t of elementwise_ops.h.
using OpScalars = std::array<double, 2>;

Array unary(UnaryOp op, const Array& a, const OpScalars& scalars = {});
Array binary(BinaryOp op, const Array& a, const Array& b, const OpScalars& scalars = {});
// One operand is one value, converted to the other's type (to f32 for bf16 and f16).
Array binary(BinaryOp op, const Array& a, double b, const OpScalars& scalars = {});
Array binary(BinaryOp op, double a, const Array& b, const OpScalars& scalars = {});
// Into `out`, which is contiguous, has the broadcast shape and may be the same view as an operand
// that has that shape.
void binary_into(BinaryOp op, const Array& a, const Array& b, Array& out);

// a where `condition` (bool) is true, else b; all three broadcast.
Array where(const Array& condition, const Array& a, const Array& b);

// target += source, broadcast to target's shape. REQUIRES: target contiguous, one type.
void accumulate(const Array& source, Array& target);

}  // namespace weft
