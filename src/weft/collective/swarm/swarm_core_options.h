// The options of a Swarm, as options of its SwarmCore and its transport.
//
// Threads: core_options() is pure, except for the incarnation, which is the time; make_transport()
// is for the thread that starts the loop. Fails: only make_transport(); a recipe's settings are
// checked before.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/core/swarm_core.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/event_loop.h"
#include "weft/net/transport.h"

namespace weft {

// kInvalidArgument where a field is set that the swarm fills in, or that would not count for
// another reason. `ticket`: of a joiner; null for a founder.
Status check_settings(const SwarmOptions& options, const Ticket* ticket);
// `endpoints`: where this peer listens; the first few are announced.
SwarmCoreOptions core_options(const SwarmOptions& options, std::vector<std::string> endpoints);
// Listens; borrows `loop`. Fails: kInvalidArgument for what is written in the options, kUnavailable
// where the system refuses.
Result<std::unique_ptr<Transport>> make_transport(EventLoop& loop, const SwarmOptions& options);

}  // namespace weft
