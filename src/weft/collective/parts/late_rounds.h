// LateRounds: rounds for which this member's input comes too late.
//
// A member whose training side has handed over nothing when the deadline has passed enters the
// round with zeros of its own making, or with what its training side has lent for that: the others
// do not wait, and the sum is one of what arrived. The training side goes on as it was and finds
// the sums as of any other round; in rounds that begin while it still computes an old one zeros
// stand in at once, and it catches up from the log of results afterwards.
//
//   begun by somebody -> deadline -> nothing handed over: the stand-in is the input
//                    \-> the training side is still in a round that is over: at once
//
// Each member decides that alone, before it gives any input: whatever it has given stands.
// Threads: as SwarmCore. Fails: never.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/base/fields.h"
#include "weft/base/time.h"
#include "weft/collective/parts/swarm_core_part.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/collective/reduce/collective.h"
#include "weft/wire/collective_message.h"

namespace weft {

class LateRounds : public SwarmCorePart {
 public:
  using SwarmCorePart::SwarmCorePart;

  // Sets what is given in place of the training side's input, from the turn `given_for` on.
  void stand_in(const CollectiveId& given_for, StandIn given);
  // This peer leaves: nothing stands in for its input any more.
  void stop() { state_.given = {}; }
  // The training side has input or asks for a turn: it computes no more.
  void on_trainer() { state_.absent = false; }
  void settle();
  // Whether rounds may go on without this member's input.
  bool may_be_late() const { return state_.given.deadline > Duration::zero(); }
  TimePoint due() const { return state_.due; }
  void add_to(SwarmStatus& status) const { status.rounds_late = state_.rounds; }

  void fingerprint(Fingerprint& out) const;

 private:
  friend struct SwarmStateAccess;

  bool may_stand_in() const;
  void enter(const CollectiveId& id);
  void report_late(const CollectiveId& id);

  struct State {
    StandIn given;
    // The turn that `given` was made for.
    CollectiveId given_for;
    // Zeros, as many as a round's vector has elements.
    std::shared_ptr<FloatBuffer> zeros;
    // The next round, when the first member began it, and when this member is late in it.
    CollectiveId next;
    TimePoint since{};
    TimePoint due = TimePoint::max();
    // Zeros stand in for the training side while it computes the turn that it has in hand.
    bool absent = false;
    std::uint64_t rounds = 0;
    TimePoint reported_at{};

    WEFT_FIELDS((given, given_for, next, due, absent, rounds), (zeros, since, reported_at))
  };

  State state_;
};

}  // namespace weft
