// Events that wait to be taken, in a box of bounded size.
//
// Threads: one owner, or the owner of the box's guard. Fails: never.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/collective/parts/swarm_types.h"

namespace weft {

// Puts `event` at the end. A full box first loses its oldest event about links and refusals, whose
// number depends on strangers; only then its oldest of all.
SwarmEvent& keep_event(std::vector<SwarmEvent>& box, SwarmEvent event, std::size_t most);

}  // namespace weft
