// Whether the loops of this folder may be faster than oneDNN on this processor.
#pragma once

#include "weft/base/isa/isa.h"

namespace weft {

// On x86-64, oneDNN is faster as long as only SSE is there; elsewhere it has plain loops alone.
inline bool own_loops_are_faster() {
#if defined(__x86_64__)
  return use_avx2();
#else
  return true;
#endif
}

}  // namespace weft
