// LineGauge: whether one link's bulk lane would gain by more connections.
//
// One connection carries at most a window for each round trip. Where the system says that sending
// was held up by windows most of the time, and the round trip is long, the number is doubled; where
// that brought nothing (the line was full after all, or the reader slow), it stays. A line that is
// held up by loss or by its own rate is left alone: more connections would take from others.
// Without a socket, a clock or a thread: a function of what it is told.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft {

// Of all connections that carry the lane, summed since each began, but for the round trip.
struct LineSample {
  TimePoint now;
  std::size_t connections = 1;
  double rtt_seconds = 0;
  double busy_seconds = 0;
  double window_limited_seconds = 0;
  std::uint64_t bytes_acknowledged = 0;
};

class LineGauge {
 public:
  // How often to ask.
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // How many connections there should be; never fewer than there are.
  std::size_t wanted(const LineSample& sample, std::size_t connections_max);

 private:
  // True if the time between `last_` and `sample` says that the windows are what limits.
  bool limited_until(const LineSample& sample) const;
  // Bytes in a second in which there was something to send.
  static double rate(const LineSample& from, const LineSample& to);

  LineSample last_;
  bool begun_ = false;
  int limited_turns_ = 0;
  // After a growth: intervals to let pass, then to measure over.
  int settling_turns_ = 0;
  LineSample settled_;
  double rate_before_ = 0;
  bool done_ = false;
};

}  // namespace weft
