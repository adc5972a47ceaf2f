#include "weft/train/event_log.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/check.h"

namespace weft {
namespace {

std::string system_text(int error) { return std::generic_category().message(error); }

}  // namespace

EventLog::EventLog(int file, const Clock& clock, Listener listener)
    : file_(file),
      clock_(clock),
      started_(clock.now()),
      started_unix_s_(static_cast<double>(clock.unix_time_s())),
      listener_(std::move(listener)) {}

EventLog::~EventLog() {
  if (file_ >= 0) ::close(file_);
}

Result<std::unique_ptr<EventLog>> EventLog::open(const std::string& path, const Clock& clock,
                                                 Listener listener) {
  int file = -1;
  if (!path.empty()) {
    // Its tickets let others in, so nobody else may read it.
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0 || ::fchmod(file, 0600) != 0) {
      if (file >= 0) ::close(file);
      return unavailable(fmt::format("{}: cannot be written ({}); choose another --out", path,
                                     system_text(errno)));
    }
  }
  return std::unique_ptr<EventLog>(new EventLog(file, clock, std::move(listener)));
}

void EventLog::append(Event event) {
  WEFT_CHECK(is_documented(event));
  // Wall time of the start plus monotonic time since: a clock that is set back reorders nothing.
  event.unix_time_s = started_unix_s_ + to_seconds(clock_.now() - started_);
  if (file_ >= 0 && write_status_.ok()) write_line(to_json(event) + "\n");
  if (listener_) listener_(event);
}

void EventLog::write_line(const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t wrote = ::write(file_, line.data() + done, line.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      write_status_ = unavailable(fmt::format("events.jsonl: {}", system_text(errno)));
      return;
    }
    done += static_cast<std::size_t>(wrote);
  }
}

}  // namespace weft
