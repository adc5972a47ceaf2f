// Gathering: after all members have died, the founder that resumes takes the newest state that any
// of them brings along, before it begins its first round. Later newcomers take the group's.
//
// A state counts if its holder proves, by the record of the run before (peer/voter_record.h), that
// it was a member of it, and states which run its state belongs to. Among states of one run the
// later round is newer; a run is newer than the one that it continued. How long the founder waits,
// and for which peers, follows from the newest last view in any record: a member of that one holds
// the newest state.
//
// Threads: as SwarmCore. Fails: never; a claim that does not hold is reported and does not count.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/peer/voter_record.h"
#include "weft/wire/state_message.h"

namespace weft {

class Gathering : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  void begin();
  // States are still waited for: no round begins.
  bool open() const { return state_.open; }
  // A newcomer reports the state that it holds. REQUIRES: open().
  void on_held_state(const PeerId& from, const HeldStateMessage& held);
  // The state that a newcomer reported; null if it has none.
  const HeldStateMessage* held_by(const PeerId& peer) const;
  void settle();
  TimePoint deadline() const;
  // Sends a newcomer the origin of the run's state.
  void send_taken(const PeerId& joiner);

  // --- For the state that is taken over (adoption.h).
  void forget(const PeerId& holder) { state_.held.erase(holder); }
  // The training side holds the state of `holder` after `round` now.
  void on_adopted(const PeerId& holder, Round round);

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  std::vector<PeerId> awaited() const;
  void report_awaited(const std::vector<PeerId>& missing);
  void end();
  HeldStateMessage make_taken(std::uint32_t generation) const;

  struct HeldState {
    HeldClaim claim;
    HeldStateMessage message;

    WEFT_FIELDS((claim, message), ())
  };
  struct State {
    bool open = false;
    std::map<PeerId, HeldState> held;
    // The run of the founder's state, counted from the first, and the runs that led to it.
    std::uint32_t own_generation = 0;
    std::vector<PastRun> own_history;
    HeldStateMessage taken;
    TimePoint reported_at = TimePoint::max();

    WEFT_FIELDS((open, held, own_generation, own_history, taken), (reported_at))
  };

  State state_;
};

}  // namespace weft
