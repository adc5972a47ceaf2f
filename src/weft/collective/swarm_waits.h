// SwarmWaits: what a SwarmCore has told of waits, so that each is told at once, by name, and not
// in every round where waits are usual.
//
// A wait is told when nothing has moved for RoundCoreOptions::wait_interval, again each time it has
// become twice as long, and when it is over. Where every round waits, as for a slow member, only
// one that is longer than the others by half is news.
// Threads: part of SwarmCore; see swarm_waits.cpp.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "weft/base/time.h"
#include "weft/collective/round_core.h"
#include "weft/collective/round_times.h"

namespace weft {

struct SwarmWaits {
  RoundTimes times;

  // The present wait as last seen, whom it was told of and how long it was then.
  std::optional<RoundWait> present{};
  std::vector<PeerId> told{};
  Duration told_at{};
  bool warned = false;
  bool suspected = false;
  // The longest wait of this round, and what waits are like here, which fades by half with each
  // round.
  Duration longest{};
  Duration usual{};
  // Who was suspected for computing too long: it is given no second limit in a round that follows.
  std::set<PeerId> overdue{};

  // The others wait for this member's input: in which round, since when, and what was told of it.
  Round awaited{};
  TimePoint awaited_since{};
  bool awaited_warned = false;
  TimePoint awaited_told = TimePoint::min();
};

}  // namespace weft
