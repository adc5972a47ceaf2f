// The block of the 8-bit format of wire_precision.h, for its loops, too.
// Threads: a constant.
#pragma once

#include <cstddef>

namespace weft {

inline constexpr std::size_t kInt8Block = 128;

}  // namespace weft
