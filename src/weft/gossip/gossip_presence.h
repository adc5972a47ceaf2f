// Tickets that a gossiping member makes for peers that want to take part, and its presence on the
// local network and in the rendezvous.
//
// Where it stands: LooseMember asks it. Threads: the loop's.
// Fails: gossip_ticket() with kUnavailable where this peer has not been let in.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/gossip/member_gate.h"
#include "weft/net/event_loop.h"
#include "weft/peer/presence.h"
#include "weft/peer/ticket.h"

namespace weft {

// The parts of a member that tickets and presence are made from. The first three are borrowed.
struct GossipFacts {
  const MemberGate& gate;
  const Transport& transport;
  const Clock& clock;
  // The other members, as far as they are known.
  std::function<std::vector<PeerAddress>()> others;
  // How many there are, this one included.
  std::function<std::size_t()> members;
  // Nobody can come in any more.
  std::function<bool()> over;
};

// With this peer and up to two others that it has links to.
Result<Ticket> gossip_ticket(const GossipFacts& facts, Duration valid_for);
// Whether members still accept the ticket.
bool gossip_ticket_stands(const GossipFacts& facts, const Ticket& ticket);
// What `facts` refers to, `loop` and `transport` must outlive it.
std::unique_ptr<RunPresence> make_presence(EventLoop& loop, Transport& transport,
                                           const GossipFacts& facts, const PeerIdentity& identity,
                                           PresenceOptions options);
// Those of the addresses that fit into a record.
std::vector<std::string> record_endpoints(const std::vector<std::string>& endpoints);

}  // namespace weft
