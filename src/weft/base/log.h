// Log lines for people who search for a fault; results and events go to the event log instead.
//
// A separate thread writes them to standard error, so that no caller waits for a reader; the
// process waits for it at most 1 s at its end. Nothing below the level is formatted. No line
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
// Writes `text` unchanged, in order with the lines of the log.
void write_error(std::string text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
