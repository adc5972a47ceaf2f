// Operands that may have been left out: an undefined Array stands for none.
//
// Threads: pure.
#pragma once

#include "weft/array/array.h"

namespace weft {

// Contiguous; undefined where `operand` is.
inline Array dense(const Array& operand) {
  return operand.defined() ? operand.contiguous() : operand;
}

// The first element, or null where there is none.
inline const void* data_or_null(const Array& operand) {
  return operand.defined() ? operand.raw_data() : nullptr;
}

}  // namespace weft
