// SwarmEngine: the Engine of a swarm's current view, beside its rounds.
//
// Threads: one owner, any thread; it may be another than the training thread. Fails: see engine.h.
#pragma once

#include <memory>

#include "weft/collective/engine/engine.h"
#include "weft/collective/swarm/swarm.h"

namespace weft {

// Borrows `swarm`, which must outlive this and every Work. Call settle() first.
std::unique_ptr<Engine> make_swarm_engine(Swarm& swarm);

}  // namespace weft
