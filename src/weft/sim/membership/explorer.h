// Explorer: every order in which a few members, joiners, deaths and suspicions can meet.
//
// Depth-first over ExploredWorld: from each world every action that is possible in it, each world
// once (by a hash of 64 bits). Every world is checked against the invariants of invariants.h; where
// nothing more can happen, a fair continuation must bring all that live into one view.
//
// IMPLEMENTATION: explicit-state exploration with hash compaction; Stern, Dill, "Improved
// probabilistic verification by hash compaction", CHARME 1995. With 10^8 worlds the chance that
// any was taken for another one is below 0.03 %.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/sim/membership/explored_world.h"

namespace weft {

struct ExploreResult {
  std::uint64_t worlds = 0;
  std::uint64_t transitions = 0;
  // Worlds in which nothing more can happen.
  std::uint64_t ends = 0;
  std::uint64_t depth_max = 0;
  // Views that some world has installed, over all worlds.
  std::uint64_t views = 0;
  // False where states_max ended it.
  bool complete = true;
  // Empty, or the first violation and the events that lead to it.
  std::string fault;
  std::vector<std::string> path;
};

ExploreResult explore(const ExploreOptions& options);

}  // namespace weft
