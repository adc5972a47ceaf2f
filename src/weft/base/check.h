// WEFT_CHECK: stops the program on a bug of ours, naming file, line and condition.
//
// Never use it on anything that a peer, a file or a user sent: those return a Status. Do not use it
// for mistakes of a caller of the library's public functions either: those throw (ADR 0007).
// WEFT_DCHECK is compiled in only if WEFT_DEBUG_CHECKS is set (presets dev, asan, tsan).
#pragma once

namespace weft {

[[noreturn]] void check_failed(const char* file, int line, const char* condition);

}  // namespace weft

#define WEFT_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::weft::check_failed(__FILE__, __LINE__, #condition))

#ifdef WEFT_DEBUG_CHECKS
#define WEFT_DCHECK(condition) WEFT_CHECK(condition)
#else
#define WEFT_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
