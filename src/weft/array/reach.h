// ByteRange: which bytes of its storage a strided array may touch.
//
// Where it stands: writers and saved values of a graph compare theirs. Threads: a value.
#pragma once

#include <cstddef>

#include "weft/array/array.h"

namespace weft {

// Bytes [begin, end) of the storage.
struct ByteRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// From the first to the last element that `array` reaches; empty for an array of no elements.
// REQUIRES: strided.
ByteRange byte_range(const Array& array);

}  // namespace weft
