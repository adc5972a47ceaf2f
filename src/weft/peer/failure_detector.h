// FailureDetector: how long one peer may be silent before it is suspected.
//
// The timeout follows the gaps between the peer's heartbeats: their smoothed mean and four times
// their smoothed deviation, within [4 * interval, cap]. A slow line is given more time, a regular
// one is suspected sooner. A line that once paused for longer and came back is given a little more
// than that pause, which is forgotten by half in 350 heartbeats, a minute and a half at the default
// pace: good peers on lines that come and go are not put out again and again. Any frame shows that
// the peer lives; only heartbeats, which are sent at a known pace, shape the timeout.
//
// Threads: one owner.
// Fails: never.
#pragma once

#include "weft/base/time.h"

namespace weft {

class FailureDetector {
 public:
  // Counts as heard at `now`.
  FailureDetector(Duration interval, Duration cap, TimePoint now);

  void on_heartbeat(TimePoint now);
  void on_sign_of_life(TimePoint now);
  // This process itself stood still: the silence so far says nothing, the count starts again.
  void forgive(TimePoint now);
  // It was taken for lost and was not: from now on it has the whole cap, for a while.
  void be_patient() { longest_ = cap_; }

  Duration timeout() const;
  Duration silent_for(TimePoint now) const { return now - heard_; }
  bool silent(TimePoint now) const { return silent_for(now) > timeout(); }

 private:
  Duration interval_;
  Duration cap_;
  TimePoint heard_;
  // Of the last heartbeat; the gap that follows a forgiven silence is not counted.
  TimePoint beat_;
  bool beating_ = false;
  Duration mean_;
  Duration deviation_;
  // The longest gap, fading.
  Duration longest_{};
};

}  // namespace weft
