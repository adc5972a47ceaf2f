// LinkMeter: how many bytes a second one link carries, by what arrives over it.
//
// Bursts (wire/link_rate_message.h) are sent as fast as the link takes them: the latter half of
// one, divided by the time in which it came, is a measurement, when queues are filled and the
// sender's window is open. Ordinary traffic may have been slow for other reasons, so the most that
// it has carried lately is a lower bound, and more where a burst was disturbed.
//
// IMPLEMENTATION: packet trains, Jain, Routhier (1986); the lately largest throughput as in BBR,
// Cardwell et al., "BBR: congestion-based congestion control", ACM Queue 14 (2016).
//
// Threads: one owner; no clock. Fails: never; frames of a burst that is not whole are ignored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/base/time.h"
#include "weft/wire/link_rate_message.h"

namespace weft {

class LinkMeter {
 public:
  // Bulk bytes of ordinary traffic.
  void on_traffic(std::size_t bytes, TimePoint now);
  void on_probe(const ProbeHead& head, std::size_t bytes, TimePoint now);
  // At most kLinkRateMax; 0 before the first whole burst.
  double bytes_per_s() const;

 private:
  // The burst that is under way.
  struct Burst {
    std::uint32_t sequence = 0;
    std::uint8_t next = 0;
    TimePoint middle;
    std::size_t bytes = 0;
  };

  Burst burst_;
  // Rates of the latest bursts, the oldest first.
  std::vector<double> bursts_;
  TimePoint window_began_;
  std::size_t window_bytes_ = 0;
  // The most of this minute's windows, and of those of the minute before.
  TimePoint minute_began_;
  double most_ = 0;
  double most_before_ = 0;
};

// Faster links count as equally fast: what is measured on them is the processors.
inline constexpr double kLinkRateMax = 125e6;

}  // namespace weft
