// convert: the values of an array in another type, by convert_value() (array/dtype/dtype.h), split
// over the threads and fused with its neighbours in a captured graph; Array::to() does the same on
// the caller's thread alone.
#pragma once

#include "weft/array/array.h"

namespace weft {

// Contiguous; `x` itself if it has the type already.
Array convert(const Array& x, DType dtype);

}  // namespace weft
