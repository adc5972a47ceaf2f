// Operands that may have been left out: an undefined Array means none.
//
// Threads: pure.
#pragma once

#include "weft/array/array.h"

namespace weft {

// Contiguous; undefined where `operand` is.
inline Array dense(const Array& operand) {
  return operand.defined() ? operand.contiguous() : operand;
}

// The first element, or null if there is none.
inline const void* data_or_null(const Array& operand) {
  return operand.defined() ? operand.raw_data() : nullptr;
}

}  // namespace weft
