#include "weft/base/log.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "weft/base/background_writer.h"
#include "weft/base/printable.h"

namespace weft {
namespace {

constexpr std::size_t kErrorBytesMax = std::size_t{1} << 20;
constexpr Duration kErrorCloseLimit = std::chrono::seconds(1);

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

// The whole process has one; it is never destroyed, since others may log until the very end.
BackgroundWriter& error_writer() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static BackgroundWriter* const writer = [] {
    BackgroundWriter::Options options;
    options.bytes_max = kErrorBytesMax;
    options.gap = [](std::uint64_t lines) {
      return fmt::format("{} lines were not shown: nobody read them\n", lines);
    };
    std::atexit([] { error_writer().close(kErrorCloseLimit); });
    return std::make_unique<BackgroundWriter>(
               [](std::string_view text) { write_fully(STDERR_FILENO, text); }, std::move(options))
        .release();
  }();
  return *writer;
}

// Formats here and writes elsewhere; the level has a colour where a person sees it.
class ErrorSink final : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string text(line.data(), line.size());
    if (in_colour_ && message.color_range_end > message.color_range_start) {
      text.insert(message.color_range_end, "\x1b[0m");
      text.insert(message.color_range_start, message.level >= spdlog::level::err    ? "\x1b[31m"
                                             : message.level == spdlog::level::warn ? "\x1b[33m"
                                                                                    : "\x1b[32m");
    }
    write_error(std::move(text));
  }
  void flush_() override {}

 private:
  const bool in_colour_ = ::isatty(STDERR_FILENO) == 1;
};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("weft", std::make_shared<ErrorSink>());
    made->set_pattern("%H:%M:%S.%e %^%l%$ %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

void set_log_level(LogLevel level) { logger().set_level(to_spdlog(level)); }
bool log_enabled(LogLevel level) { return logger().should_log(to_spdlog(level)); }
void log_line(LogLevel level, std::string_view text) {
  logger().log(to_spdlog(level), printable(text));
}
void write_error(std::string text) { error_writer().push(std::move(text)); }

}  // namespace weft
