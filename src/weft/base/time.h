// Time for the protocol cores: a monotonic TimePoint that their driver passes in.
//
// Only SystemClock reads the machine's clock, so the simulator can run in virtual time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace weft {

using Duration = std::chrono::nanoseconds;
// Nanoseconds since an arbitrary start; never goes back.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  // Seconds since 1970-01-01 UTC: for expiry dates and log lines, never to measure a wait.
  virtual std::int64_t unix_time_s() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  std::int64_t unix_time_s() const override;
};

// Microseconds since 1970-01-01 UTC: distinguishes successive processes of one identity.
std::uint64_t unix_time_us();

double to_seconds(Duration duration);
Duration from_seconds(double seconds);
Duration from_milliseconds(std::int64_t milliseconds);

// The deadline of anything that waits: `now + limit`.
inline TimePoint deadline_after(const Clock& clock, Duration limit) { return clock.now() + limit; }

}  // namespace weft
