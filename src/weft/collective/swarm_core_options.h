// core_options(): what a Swarm's options mean to its SwarmCore.
//
// Threads: pure, but for the incarnation, which is the time. Fails: never; what a recipe may say is
// checked before.
#pragma once

#include <string>
#include <vector>

#include "weft/collective/swarm.h"
#include "weft/collective/swarm_core.h"

namespace weft {

// `endpoints`: where this peer listens; the first few are told.
SwarmCoreOptions core_options(const SwarmOptions& options, std::vector<std::string> endpoints);

}  // namespace weft
