// The presence of a swarm's member: what RunPresence announces of a SwarmCore.
//
// Where it stands: Swarm makes one. Threads: the loop's. Fails: never.
#pragma once

#include <memory>

#include "weft/peer/presence.h"

namespace weft {

class SwarmCore;
// Borrows all but `options`.
std::unique_ptr<RunPresence> make_presence(EventLoop& loop, Transport& transport, SwarmCore& core,
                                           const PeerIdentity& identity, PresenceOptions options);

}  // namespace weft
