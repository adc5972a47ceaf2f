// The loops of elementwise operations on integers and bool, for elementwise.cpp.
#pragma once

#include "weft/kernel/core/rows.h"
#include "weft/kernel/elementwise/elementwise.h"

namespace weft {

// Null where the type lacks the operation.
ElementwiseRow integer_row(UnaryOp op, DType dtype);
ElementwiseRow integer_row(BinaryOp op, DType dtype);

}  // namespace weft
