#include "weft/base/time.h"

namespace weft {

TimePoint SystemClock::now() const { return std::chrono::steady_clock::now(); }

std::int64_t SystemClock::unix_time_s() const {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since_epoch).count();
}

std::uint64_t unix_time_us() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

Duration from_seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Duration from_milliseconds(std::int64_t milliseconds) {
  return std::chrono::milliseconds(milliseconds);
}

}  // namespace weft
