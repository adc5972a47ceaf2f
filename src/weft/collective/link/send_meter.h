// SendMeter: how fast one link takes what this member sends, by the queue of what is not sent yet.
//
// The link is the limit only while the queue does not run empty: between two looks that both find
// data queued, what has left the queue is divided by the time. A link that always keeps up has no
// rate. LinkMeter measures the same link at its other end.
//
// Where it stands: SwarmOutlet looks before it sends. Threads: one owner; no clock. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/time.h"

namespace weft {

class SendMeter {
 public:
  // Bulk data is about to be queued behind `queued` bytes.
  void on_send(std::size_t queued, TimePoint now);
  // The queue holds `queued` bytes then.
  void on_queued(std::size_t queued) { queued_ = queued; }
  // Bytes per second; 0 until the link has been the limit for a while.
  double bytes_per_s() const;

 private:
  std::size_t queued_ = 0;
  TimePoint looked_;
  double bytes_ = 0;
  double seconds_ = 0;
};

}  // namespace weft
