#include "weft/gossip/member_gate.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/wire/admission_message.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/join_message.h"

namespace weft {

RunFacts MemberGate::facts() const {
  return {options_.run,
          options_.recipe_hash,
          options_.layout_hash,
          options_.key.value(),
          options_.invite,
          &options_.allowed,
          nullptr};
}

void MemberGate::link_up(const LinkInfo& link, TimePoint now) {
  const auto strangers = std::count_if(links_.begin(), links_.end(),
                                       [](const auto& entry) { return !entry.second.proved; });
  if (link.inbound && static_cast<std::size_t>(strangers) >= options_.strangers_max) {
    return close(link.peer, unavailable("gossip: too many strangers at once"));
  }
  Link& added = links_.insert_or_assign(link.peer, Link{link, now}).first->second;
  show(added);
}

// What this end has to show.
void MemberGate::show(Link& link) {
  const PeerId& peer = link.info.peer;
  const ProofLink proof{options_.self, peer, link.info.exporter};
  if (options_.key) {
    const MemberProofMessage message{member_proof(*options_.key, options_.run, proof)};
    actions_.emplace_back(
        GossipSend{peer, Lane::kControl, {frame_type::kMemberProof, message.encode(), {}}});
    return;
  }
  const bool of_ticket =
      options_.ticket &&
      std::any_of(options_.ticket->members.begin(), options_.ticket->members.end(),
                  [&](const PeerAddress& member) { return member.id == peer; });
  // It has nothing to show to other peers yet.
  if (!of_ticket) return;
  link.asked = true;
  JoinRequestMessage request;
  request.proof = make_proof(*options_.ticket, ProofPurpose::kJoin, proof);
  request.layout_hash = options_.layout_hash;
  request.recipe_hash = options_.recipe_hash;
  request.joiner.id = options_.self;
  request.joiner.incarnation = options_.incarnation;
  request.joiner.endpoints = options_.endpoints;
  actions_.emplace_back(
      GossipSend{peer, Lane::kControl, {frame_type::kJoinRequest, request.encode(), {}}});
}

void MemberGate::close(const PeerId& peer, const Status& why) {
  actions_.emplace_back(GossipClose{peer, why});
  links_.erase(peer);
}

void MemberGate::refuse(const PeerId& peer, const JoinRefusedMessage& why) {
  actions_.emplace_back(
      GossipSend{peer, Lane::kControl, {frame_type::kJoinRefused, why.encode(), {}}});
  close(peer, unavailable("gossip: refused: " + why.reason));
}

void MemberGate::prove(Link& link, const Hash256& given_key) {
  const PeerId peer = link.info.peer;
  link.proved = true;
  actions_.emplace_back(GateTrust{peer, LinkTrust::kProved});
  actions_.emplace_back(
      GossipSend{peer,
                 Lane::kControl,
                 {frame_type::kGossipWelcome, GossipWelcomeMessage{given_key}.encode(), {}}});
  report_if_admitted(link);
}

void MemberGate::report_if_admitted(Link& link) {
  if (!link.proved || !link.welcome || std::exchange(link.reported, true)) return;
  admitted_.push_back(link.info.peer);
}

bool MemberGate::admitted(const PeerId& peer) const {
  const auto link = links_.find(peer);
  return link != links_.end() && link->second.proved && link->second.welcome;
}

std::vector<GateAction> MemberGate::take_actions() { return std::exchange(actions_, {}); }
std::vector<PeerId> MemberGate::take_admitted() { return std::exchange(admitted_, {}); }

bool MemberGate::receive(const PeerId& from, std::uint8_t type, ByteSpan head,
                         std::int64_t now_unix_s) {
  const auto found = links_.find(from);
  if (found == links_.end()) return true;
  Link& link = found->second;
  Status status;
  switch (type) {
    case frame_type::kRecipeRequest:
      status = on_recipe_request(link, head, now_unix_s);
      break;
    case frame_type::kJoinRequest:
      status = on_join_request(link, head, now_unix_s);
      break;
    case frame_type::kMemberProof:
      status = on_member_proof(link, head);
      break;
    case frame_type::kGossipWelcome:
      status = on_welcome(link, head);
      break;
    case frame_type::kJoinRefused:
      status = on_refused(link, head);
      break;
    default:
      if (link.proved) {
        // Its welcome is on its way: between lanes frames may overtake each other.
        link.welcome = true;
        report_if_admitted(link);
        return false;
      }
      status = corrupt(fmt::format("gossip: expected a proof first, got frame type {:#x}", type));
  }
  if (!status.ok()) close(from, status);
  return true;
}

Status MemberGate::on_recipe_request(Link& link, ByteSpan head, std::int64_t now_unix_s) {
  WEFT_TRY_ASSIGN(const RecipeRequestMessage request, RecipeRequestMessage::decode(head));
  const PeerId peer = link.info.peer;
  if (!options_.key) {
    refuse(peer, {RefusalCode::kNotMember, 0, "this peer is no member yet"});
    return {};
  }
  if (std::exchange(link.sent_recipe, true)) {
    return unavailable("gossip: the recipe was asked for twice on one link");
  }
  const ProofLink proof{peer, options_.self, link.info.exporter};
  if (const auto why =
          refuse_proof(facts(), request.proof, ProofPurpose::kRecipe, proof, now_unix_s)) {
    refuse(peer, *why);
    return {};
  }
  actions_.emplace_back(GateTrust{peer, LinkTrust::kKnown});
  actions_.emplace_back(
      GossipSend{peer,
                 Lane::kControl,
                 {frame_type::kRecipe, RecipeMessage{options_.recipe_text, {}}.encode(), {}}});
  return {};
}

Status MemberGate::on_join_request(Link& link, ByteSpan head, std::int64_t now_unix_s) {
  WEFT_TRY_ASSIGN(const JoinRequestMessage request, JoinRequestMessage::decode(head));
  const PeerId peer = link.info.peer;
  if (!options_.key) {
    refuse(peer, {RefusalCode::kNotMember, 0, "this peer is no member yet"});
    return {};
  }
  const ProofLink proof{peer, options_.self, link.info.exporter};
  if (const auto why = refuse_join(facts(), request, proof, now_unix_s)) {
    refuse(peer, *why);
    return {};
  }
  if (shut_) {
    refuse(peer, {RefusalCode::kBegun, 0, *shut_});
    return {};
  }
  link.endpoints = request.joiner.endpoints;
  prove(link, *options_.key);
  return {};
}

std::vector<std::string> MemberGate::endpoints_of(const PeerId& peer) const {
  const auto link = links_.find(peer);
  return link == links_.end() ? std::vector<std::string>() : link->second.endpoints;
}

Status MemberGate::on_member_proof(Link& link, ByteSpan head) {
  WEFT_TRY_ASSIGN(const MemberProofMessage message, MemberProofMessage::decode(head));
  if (link.proved) return {};
  if (options_.key) return check_member_proof(link, message.hmac);
  link.proof = message.hmac;
  return {};
}

Status MemberGate::check_member_proof(Link& link, const Hash256& hmac) {
  const ProofLink proof{link.info.peer, options_.self, link.info.exporter};
  if (!equal_constant_time(hmac, member_proof(*options_.key, options_.run, proof))) {
    return corrupt("gossip: expected a proof of the run's key, got another");
  }
  prove(link, {});
  return {};
}

Status MemberGate::on_welcome(Link& link, ByteSpan head) {
  WEFT_TRY_ASSIGN(const GossipWelcomeMessage message, GossipWelcomeMessage::decode(head));
  if (!options_.key) {
    if (!link.asked || message.key == Hash256{}) {
      return corrupt("gossip: expected the run's key with the welcome, got none");
    }
    options_.key = message.key;
    link.welcome = true;
    // Only members of the ticket were asked, and a link proves the identity of the other end.
    prove(link, {});
    const PeerId sponsor = link.info.peer;
    std::vector<std::pair<PeerId, Status>> liars;
    for (auto& [peer, other] : links_) {
      if (peer == sponsor) continue;
      show(other);
      if (!other.proof) continue;
      const Status checked = check_member_proof(other, *other.proof);
      if (!checked.ok()) liars.emplace_back(peer, checked);
    }
    for (const auto& [peer, why] : liars) close(peer, why);
    return {};
  }
  link.welcome = true;
  report_if_admitted(link);
  return {};
}

Status MemberGate::on_refused(Link& link, ByteSpan head) {
  WEFT_TRY_ASSIGN(const JoinRefusedMessage message, JoinRefusedMessage::decode(head));
  if (link.asked && !options_.key && final_refusal(message.code)) {
    refused_ = invalid_argument("join: refused: " + message.reason);
  }
  return unavailable("gossip: refused: " + message.reason);
}

void MemberGate::tick(TimePoint now) {
  std::vector<PeerId> late;
  for (const auto& [peer, link] : links_) {
    if (!(link.proved && link.welcome) && link.since + options_.timeout <= now) {
      late.push_back(peer);
    }
  }
  for (const PeerId& peer : late) close(peer, timed_out("gossip: no proof came in time"));
}

std::optional<TimePoint> MemberGate::next_deadline() const {
  std::optional<TimePoint> first;
  for (const auto& [peer, link] : links_) {
    if (link.proved && link.welcome) continue;
    const TimePoint until = link.since + options_.timeout;
    first = first ? std::min(*first, until) : until;
  }
  return first;
}

}  // namespace weft
