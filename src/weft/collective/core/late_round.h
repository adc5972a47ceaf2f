// LateRound: what a SwarmCore knows of rounds for which its member's input comes too late.
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
// Threads: part of SwarmCore.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "weft/base/time.h"
#include "weft/collective/core/swarm_types.h"
#include "weft/collective/reduce/collective.h"
#include "weft/collective/round/round_core.h"

namespace weft {

struct LateRound {
  StandIn given;
  // The turn that `given` was made for.
  CollectiveId given_for;
  // As long as a round's vector.
  std::shared_ptr<FloatBuffer> zeros;

  // The next round, since when somebody has begun it, and when this member is late in it.
  CollectiveId next;
  TimePoint since;
  TimePoint due = TimePoint::max();

  // The turn that the training side has in hand, and whether zeros stand in for it while it
  // computes.
  std::optional<CollectiveId> training;
  bool absent = false;
  // The open round takes the training side's input, and has some of it.
  bool takes_input = false;
  bool has_input = false;
  // The open round was opened here; the training side has begun it since.
  std::optional<CollectiveId> opened;
  bool awaited = false;
  // How such a round ended, for a training side that holds its turn and has not begun it.
  std::optional<std::pair<CollectiveId, RoundOutcome>> early;

  std::uint64_t rounds = 0;
  TimePoint told;
};

}  // namespace weft
