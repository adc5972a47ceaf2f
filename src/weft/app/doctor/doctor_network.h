// The steps of `weft doctor` that ask the network: ports, NAT, other peers, the ticket's members.
//
// Threads: each call blocks its caller for some seconds at most. Fails: never; failures are
// findings.
#pragma once

#include <vector>

#include "weft/app/doctor/doctor.h"
#include "weft/base/status.h"
#include "weft/net/discovery.h"
#include "weft/net/identity.h"
#include "weft/peer/ticket.h"

namespace weft {

// Listening, addresses, NAT.
std::vector<Finding> examine_ports(const DoctorRequest& request);
Result<std::vector<DiscoveredRun>> runs_on_lan();
Finding examine_rendezvous(const DoctorRequest& request, const Ticket* ticket);
// Each member's addresses, a handshake with one that answers, whether the members accept the
// ticket, and the data that the recipe needs.
std::vector<Finding> examine_members(const Ticket& ticket, const PeerIdentity& identity);

}  // namespace weft
