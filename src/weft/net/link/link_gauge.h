// LinkGauge: decides whether one link's bulk lane would gain from more connections.
//
// One connection carries at most a window for each round trip. If the system reports that windows
// delayed sending most of the time, and the round trip is long, the number of connections is
// doubled; if that brought nothing (the path was saturated after all, or the reader slow), it
// stays. A path that is limited by loss or by its own rate is left alone: more connections would
// take bandwidth from others. It has no socket, clock or thread: it is a function of its inputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/time.h"

namespace weft {

// The sum over all connections of the lane, each since it began; the round trip is no sum.
struct LinkSample {
  TimePoint now;
  std::size_t connections = 1;
  double rtt_seconds = 0;
  double busy_seconds = 0;
  double window_limited_seconds = 0;
  std::uint64_t bytes_acknowledged = 0;
};

class LinkGauge {
 public:
  // The interval between samples.
  static constexpr Duration kInterval = std::chrono::seconds(1);

  // The number of connections there should be, at least the present number.
  std::size_t wanted(const LinkSample& sample, std::size_t connections_max);

 private:
  // True if windows limited the rate between `last_` and `sample`.
  bool limited_until(const LinkSample& sample) const;
  // Bytes per second of the time in which there was something to send.
  static double rate(const LinkSample& from, const LinkSample& to);

  LinkSample last_;
  bool begun_ = false;
  int limited_turns_ = 0;
  // After a growth: the intervals to skip, then those to measure over.
  int settling_turns_ = 0;
  LinkSample settled_;
  double rate_before_ = 0;
  bool done_ = false;
};

}  // namespace weft
