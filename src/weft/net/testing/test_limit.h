// How long the tests of this folder wait for an event that must occur. It is far beyond what
// anything takes, on a busy machine and under a sanitizer too: only an event that never occurs
// exceeds it.
#pragma once

#include "weft/base/time.h"

namespace weft {

inline constexpr Duration kLimit = std::chrono::seconds(90);

}  // namespace weft
