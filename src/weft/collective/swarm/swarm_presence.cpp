#include "weft/collective/swarm/swarm_presence.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "weft/collective/core/swarm_core.h"

namespace weft {

static constexpr Duration kInvitationFor = std::chrono::hours(1);

std::unique_ptr<RunPresence> make_presence(EventLoop& loop, Transport& transport, SwarmCore& core,
                                           const PeerIdentity& identity, PresenceOptions options) {
  RunPresence::Callbacks callbacks;
  callbacks.facts = [&core, self = identity.id()] {
    PresenceFacts facts;
    facts.is_isolated = core.state() == MembershipState::kIsolated;
    facts.is_member = !core.left() && core.view().contains(self);
    facts.members = static_cast<std::uint32_t>(core.view().members.size());
    return facts;
  };
  callbacks.knows = [&core](const PeerId& peer) { return core.view().contains(peer); };
  callbacks.invitation = [&core] {
    const Ticket ticket = core.ticket(kInvitationFor);
    return OpenInvitation{ticket.run, core.recipe_hash(), ticket.invitation, ticket.expiry_unix_s,
                          ticket.secret};
  };
  callbacks.renewed = [&core](const Ticket& ticket) -> std::optional<std::string> {
    if (!core.stands(ticket)) return std::nullopt;
    Ticket now = ticket;
    now.members = core.ticket(kInvitationFor).members;
    return format_code_ticket(std::move(now));
  };
  return std::make_unique<RunPresence>(loop, transport, identity, std::move(options),
                                       std::move(callbacks));
}

}  // namespace weft
