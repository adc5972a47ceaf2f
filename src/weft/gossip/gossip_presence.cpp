#include "weft/gossip/gossip_presence.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t kTicketMembers = 3;
constexpr Duration kInvitationFor = std::chrono::hours(1);

bool has_links(const GossipFacts& facts) {
  return std::ranges::any_of(
      facts.others(), [&](const PeerAddress& peer) { return facts.transport.linked(peer.id); });
}

PresenceFacts presence_facts(const GossipFacts& facts) {
  PresenceFacts known;
  known.is_member = facts.gate.key().has_value() && !facts.over();
  const std::size_t members = facts.members();
  known.members = static_cast<std::uint32_t>(members);
  known.is_isolated = known.is_member && members > 1 && !has_links(facts);
  return known;
}

}  // namespace

std::vector<std::string> record_endpoints(const std::vector<std::string>& endpoints) {
  std::vector<std::string> kept;
  for (const std::string& endpoint : endpoints) {
    if (kept.size() < kRecordEndpointsMax && endpoint.size() <= kRecordEndpointBytesMax) {
      kept.push_back(endpoint);
    }
  }
  return kept;
}

Result<Ticket> gossip_ticket(const GossipFacts& facts, Duration valid_for) {
  const MemberGateOptions& run = facts.gate.options();
  if (!run.key) return unavailable("ticket: this peer has not been let in yet");
  Ticket ticket;
  ticket.run = run.run;
  std::array<std::uint8_t, 8> drawn{};
  random_bytes(drawn);
  ticket.invitation = make_invitation_id(drawn);
  ticket.recipe = recipe_check(ticket.run, ticket.invitation, run.recipe_hash);
  ticket.expiry_unix_s =
      facts.clock.unix_time_s() + static_cast<std::int64_t>(to_seconds(valid_for));
  ticket.secret = invitation_secret(*run.key, ticket.run, ticket.invitation, ticket.expiry_unix_s);
  ticket.members.push_back({run.self, record_endpoints(facts.transport.endpoints())});
  for (PeerAddress& address : facts.others()) {
    if (ticket.members.size() == kTicketMembers) break;
    if (!facts.transport.linked(address.id)) continue;
    if (!address.endpoints.empty()) ticket.members.push_back(std::move(address));
  }
  return ticket;
}

bool gossip_ticket_stands(const GossipFacts& facts, const Ticket& ticket) {
  const MemberGateOptions& run = facts.gate.options();
  if (!run.key || ticket.run != run.run) return false;
  if (facts.clock.unix_time_s() >= ticket.expiry_unix_s) return false;
  return equal_constant_time(
      invitation_secret(*run.key, ticket.run, ticket.invitation, ticket.expiry_unix_s),
      ticket.secret);
}

std::unique_ptr<RunPresence> make_presence(EventLoop& loop, Transport& transport,
                                           const GossipFacts& facts, const PeerIdentity& identity,
                                           PresenceOptions options) {
  RunPresence::Callbacks callbacks;
  callbacks.facts = [facts] { return presence_facts(facts); };
  callbacks.knows = [facts](const PeerId& peer) {
    const std::vector<PeerAddress> others = facts.others();
    return std::ranges::find(others, peer, &PeerAddress::id) != others.end();
  };
  callbacks.invitation = [facts] {
    const Result<Ticket> ticket = gossip_ticket(facts, kInvitationFor);
    if (!ticket.ok()) return OpenInvitation{};
    return OpenInvitation{ticket->run, facts.gate.options().recipe_hash, ticket->invitation,
                          ticket->expiry_unix_s, ticket->secret};
  };
  callbacks.renewed = [facts](const Ticket& ticket) -> std::optional<std::string> {
    if (!gossip_ticket_stands(facts, ticket)) return std::nullopt;
    const Result<Ticket> fresh = gossip_ticket(facts, kInvitationFor);
    if (!fresh.ok()) return std::nullopt;
    Ticket now = ticket;
    now.members = fresh->members;
    return format_code_ticket(std::move(now));
  };
  return std::make_unique<RunPresence>(loop, transport, identity, std::move(options),
                                       std::move(callbacks));
}

}  // namespace weft
