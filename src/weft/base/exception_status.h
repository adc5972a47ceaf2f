// exception_status: the Status for an exception from a library or the learning column.
//
// Threads: pure. Fails: never.
#pragma once

#include <exception>
#include <string_view>

#include "weft/base/status.h"

namespace weft {

// "WHAT: REASON": kUnavailable with the remedy where memory was short, else kInternal.
Status exception_status(std::string_view what, const std::exception& fault);

}  // namespace weft
