// SwarmExchange: a member of a swarm, whose members come and go and agree on every round.
//
// Where it stands: behind GroupExchange; forwards to collective/swarm/swarm.h. Threads and
// failures: those of Swarm.
#pragma once

#include <memory>

#include "weft/collective/swarm/swarm.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

std::unique_ptr<GroupExchange> make_swarm_exchange(std::unique_ptr<Swarm> swarm);

}  // namespace weft
