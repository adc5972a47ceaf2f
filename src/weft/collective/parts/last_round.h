// LastRound: the end of a run, at members and newcomers.
//
// A member that has applied the last round sends Finished to the others and waits for theirs.
// Newcomers are accepted up to then and get the final state; they are not admitted any more, and
// send Finished too. Members leave when no peer needs them, and notify the newcomers that they
// leave without a state.
//
// Threads: as SwarmCore. Fails: as each method says.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "weft/base/fields.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/net/transport.h"
#include "weft/wire/ids.h"

namespace weft {

class LastRound : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // The training side has come to the last round.
  bool at_last_round() const;
  // Whether the training side's state is the one after the last round.
  bool reached() const;
  // All members are done with the last round, and this one knows it.
  bool committed() const;
  // The final state is here, whole; the training side has yet to load it.
  bool coming() const;

  // The training side has come further.
  void on_state();
  void send_finished(const PeerId& peer);
  // kCorrupt for the end of another run.
  Status on_frame(const PeerId& from, const FrameView& frame);
  // The turn that is left to do; empty: wait. REQUIRES: reached().
  std::optional<Turn> turn();
  TimePoint deadline() const;

  // --- This peer leaves.
  void leave();
  void on_left() { state_.left = true; }
  // Whether this peer has left, or has no member to leave.
  bool left() const { return state_.left; }

  // --- A newcomer, or a member that lags, is late.
  void on_run_over(Round round);
  void on_run_gone(const std::optional<Round>& ended_with);
  // The final state cannot be had any more: this peer's part fails.
  void miss(std::string text);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  bool others_finished() const;
  bool is_needed() const;
  bool holds_on();

  struct State {
    // Members and newcomers that have the final state.
    std::set<PeerId> finished;
    // When this peer had it.
    TimePoint since = TimePoint::max();
    bool reported_lingering = false;
    bool leaving = false;
    bool left = false;

    WEFT_FIELDS((finished, since, reported_lingering, leaving, left), ())
  };

  State state_;
};

}  // namespace weft
