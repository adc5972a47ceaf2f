// SwarmWaits: the waits that a SwarmCore has reported, so that each is reported at once, by name,
// and not in every round if waits are usual.
//
// A wait is reported when no data has been sent for RoundCoreOptions::wait_interval, again each
// time it has doubled, and when it is over. If every round waits, as for a slow member, only one
// that is longer than the others by half is reported.
// Threads: part of SwarmCore; see swarm_waits.cpp.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "weft/base/time.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/round/round_times.h"

namespace weft {

struct SwarmWaits {
  RoundTimes times;

  // The present wait as last observed, and the members and its length when it was reported.
  std::optional<RoundWait> present{};
  std::vector<PeerId> told{};
  Duration told_at{};
  bool warned = false;
  bool suspected = false;
  // The longest wait of this round, and what waits are like here, which fades by half with each
  // round.
  Duration longest{};
  Duration usual{};
  // Members that were suspected for computing too long: they get no second limit in a later round.
  std::set<PeerId> overdue{};

  // The others wait for this member's input: in which round, since when, and what was reported.
  Round awaited{};
  TimePoint awaited_since{};
  bool awaited_warned = false;
  TimePoint awaited_told = TimePoint::min();
};

}  // namespace weft
