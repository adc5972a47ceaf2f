// FailureDetector: how long one peer may be silent before it is suspected.
//
// The timeout follows the gaps between the peer's heartbeats: their smoothed mean and four times
// their smoothed deviation, within [4 * interval, cap]. A peer on a slow network gets more time,
// one with regular heartbeats is suspected sooner. A peer that once paused for longer and came back
// gets a little more than that pause, which halves in 350 heartbeats, a minute and a half at the
// default rate: good peers with unreliable connections are not removed again and again. Any frame
// shows that the peer is alive; only heartbeats, which are sent at a known rate, determine the
// timeout.
//
// Threads: one owner.
// Fails: never.
#pragma once

#include "weft/base/time.h"

namespace weft {

class FailureDetector {
 public:
  // A frame counts as received at `now`.
  FailureDetector(Duration interval, Duration cap, TimePoint now);

  void on_heartbeat(TimePoint now);
  void on_sign_of_life(TimePoint now);
  // This process itself was stopped: the silence so far means nothing, the count starts again.
  void forgive(TimePoint now);
  // It counted as lost and was not: for a while its timeout is the cap.
  void be_patient() { longest_ = cap_; }

  Duration timeout() const;
  Duration silent_for(TimePoint now) const { return now - seen_at_; }
  bool silent(TimePoint now) const { return silent_for(now) > timeout(); }

 private:
  Duration interval_;
  Duration cap_;
  TimePoint seen_at_;
  // Time of the last heartbeat; the gap after a forgiven silence is not counted.
  TimePoint beat_;
  bool beating_ = false;
  Duration mean_;
  Duration deviation_;
  // The longest gap, fading.
  Duration longest_{};
};

}  // namespace weft
