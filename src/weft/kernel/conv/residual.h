// Sums of arrays that may be blocked, as residual connections and their gradients have them.
//
// Deterministic: the same bits for any thread count. Threads: the calling thread and the compute
// threads.
#pragma once

#include "weft/array/array.h"

namespace weft {

// a + b, then max(., 0) with `relu`, in the order of the blocked one of them (a's if both are);
// contiguous if none is. REQUIRES: one shape and type; blocked arrays are f32.
Array add_in_order(const Array& a, const Array& b, bool relu = false);

}  // namespace weft
