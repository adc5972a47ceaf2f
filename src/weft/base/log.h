// Log lines for people who look for a fault; results and events go to the event log instead.
//
// Written to standard error by a thread of its own, so that nobody waits where nobody reads; at the
// end of the process at most 1 s is waited for it. Nothing below the level is formatted. No line
// changes control flow.
// Threads: any.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace weft {

enum class LogLevel : unsigned char { kDebug, kInfo, kWarning, kError, kOff };

// The default is kWarning.
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);
// `text` as it is, among the lines of the log and in their order.
void write_error(std::string text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
