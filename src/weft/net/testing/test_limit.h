// How long the tests of this folder wait for what must come. It is far beyond what anything takes,
// on a busy machine and under a sanitizer too: only what never comes runs into it.
#pragma once

#include "weft/base/time.h"

namespace weft {

inline constexpr Duration kLimit = std::chrono::seconds(90);

}  // namespace weft
