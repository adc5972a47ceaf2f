#include "weft/peer/admission.h"

#include <algorithm>
#include <limits>

#include "weft/net/crowd.h"

namespace weft {
namespace {

JoinRefusedMessage refusal(RefusalCode code, std::string reason) {
  return {code, 0, std::move(reason)};
}

// From `then` to `now`, `then` <= `now`; the sender chose `then`, and the difference may not fit.
std::int64_t seconds_since(std::int64_t then, std::int64_t now) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return then < 0 && now > kMost + then ? kMost : now - then;
}

std::optional<JoinRefusedMessage> refuse_invitation(const RunFacts& facts, const JoinProof& proof,
                                                    ProofPurpose purpose, const ProofLink& link,
                                                    std::int64_t now_unix_s) {
  if (now_unix_s >= proof.expiry_unix_s) {
    return refusal(RefusalCode::kExpired,
                   "the ticket expired " +
                       std::to_string(seconds_since(proof.expiry_unix_s, now_unix_s)) +
                       " s ago; ask a member for a new one");
  }
  if (!check_proof(proof, facts.invitation_key, purpose, link)) {
    return refusal(
        RefusalCode::kBadProof,
        "the ticket was not made by a member of this run, was altered, or was revoked with all "
        "others; ask a member for another");
  }
  // After the proof: only holders learn what was revoked.
  if (facts.revocations != nullptr && facts.revocations->revoked(proof.invitation)) {
    return refusal(RefusalCode::kRevoked,
                   "the members have revoked this ticket; ask one of them for another");
  }
  return std::nullopt;
}

std::optional<JoinRefusedMessage> refuse_peer(const RunFacts& facts, const PeerId& joiner) {
  const std::string* ban =
      facts.revocations == nullptr ? nullptr : facts.revocations->ban_reason(joiner);
  if (ban != nullptr) {
    return refusal(RefusalCode::kBanned, "the members have put this peer out of the run: " + *ban);
  }
  const bool listed = facts.allowed != nullptr && facts.allowed->count(joiner) != 0;
  if (facts.invite == InviteMode::kAllowlist && !listed) {
    return refusal(
        RefusalCode::kNotListed,
        "the run takes only the keys in its group.allow; this peer's is " + joiner.to_string());
  }
  return std::nullopt;
}

}  // namespace

Result<InviteMode> parse_invite_mode(std::string_view text) {
  if (text == "open") return InviteMode::kOpen;
  if (text == "ticket") return InviteMode::kTicket;
  if (text == "allowlist") return InviteMode::kAllowlist;
  return invalid_argument("invite: expected open, ticket or allowlist, got '" + std::string(text) +
                          "'");
}

Result<std::set<PeerId>> parse_allow_list(std::string_view text) {
  constexpr std::string_view kBlank = " ,\t\r\n";
  std::set<PeerId> allowed;
  std::size_t at = text.find_first_not_of(kBlank);
  while (at != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const Result<Bytes> bytes = from_hex(word);
    PeerId peer;
    if (!bytes.ok() || bytes->size() != peer.bytes.size()) {
      return invalid_argument("allow list: expected peer ids of 64 hexadecimal digits, got '" +
                              std::string(word.substr(0, 80)) + "'");
    }
    std::copy(bytes->begin(), bytes->end(), peer.bytes.begin());
    allowed.insert(peer);
    if (allowed.size() > kAllowedMax) {
      return invalid_argument("allow list: expected at most " + std::to_string(kAllowedMax) +
                              " peers");
    }
    at = text.find_first_not_of(kBlank, end);
  }
  return allowed;
}

std::optional<JoinRefusedMessage> refuse_proof(const RunFacts& facts, const JoinProof& proof,
                                               ProofPurpose purpose, const ProofLink& link,
                                               std::int64_t now_unix_s) {
  if (proof.version != kJoinVersion) {
    return refusal(RefusalCode::kVersion, "protocol version: this run speaks " +
                                              std::to_string(kJoinVersion) + ", the joiner " +
                                              std::to_string(proof.version) +
                                              "; use the same release of weft");
  }
  if (proof.run != facts.run) {
    return refusal(RefusalCode::kWrongRun, "the ticket is for another run");
  }
  if (auto unwanted = refuse_peer(facts, link.joiner)) return unwanted;
  if (facts.invite != InviteMode::kTicket) return std::nullopt;
  return refuse_invitation(facts, proof, purpose, link, now_unix_s);
}

std::optional<JoinRefusedMessage> refuse_join(const RunFacts& facts,
                                              const JoinRequestMessage& request,
                                              const ProofLink& link, std::int64_t now_unix_s) {
  if (auto bad = refuse_proof(facts, request.proof, ProofPurpose::kJoin, link, now_unix_s)) {
    return bad;
  }
  if (request.joiner.id != link.joiner) {
    return refusal(RefusalCode::kBadProof, "the request names another peer than its link");
  }
  if (request.recipe_hash != facts.recipe_hash) {
    return refusal(RefusalCode::kRecipe, "recipe hash: expected " +
                                             to_hex(facts.recipe_hash).substr(0, 16) + ", got " +
                                             to_hex(request.recipe_hash).substr(0, 16) +
                                             "; take the recipe from the run instead of a file");
  }
  if (request.layout_hash != facts.layout_hash) {
    return refusal(RefusalCode::kLayout,
                   "the model's parameters differ from those of the run although the recipe is "
                   "the same; use the same release of weft");
  }
  return std::nullopt;
}

bool final_refusal(RefusalCode code) {
  switch (code) {
    case RefusalCode::kVersion:
    case RefusalCode::kWrongRun:
    case RefusalCode::kExpired:
    case RefusalCode::kBadProof:
    case RefusalCode::kRecipe:
    case RefusalCode::kLayout:
    case RefusalCode::kRevoked:
    case RefusalCode::kNotListed:
    case RefusalCode::kBanned:
    case RefusalCode::kTwin:
    case RefusalCode::kBegun:
      return true;
    case RefusalCode::kTryAgain:
    case RefusalCode::kNotMember:
    case RefusalCode::kUnknownJoiner:
    case RefusalCode::kFull:
    case RefusalCode::kNoQuorum:
    case RefusalCode::kQueued:
      return false;
  }
  return false;
}

Strangers::Order Strangers::in_order(bool with_ticket) const {
  Order order;
  for (const auto& [peer, stranger] : strangers_) {
    if (stranger.has_ticket == with_ticket) order.emplace(stranger.number, peer);
  }
  return order;
}

std::vector<PeerId> Strangers::add(const PeerId& peer, const std::string& origin, TimePoint now) {
  if (contains(peer)) return {};
  std::vector<PeerId> out;
  const Order order = in_order(false);
  const auto of_origin = [&](const auto& entry) {
    return !origin.empty() && strangers_.at(entry.second).origin == origin;
  };
  const auto count = std::count_if(order.begin(), order.end(), of_origin);
  if (static_cast<std::size_t>(count) >= limits_.of_address_max) {
    out.push_back(std::find_if(order.begin(), order.end(), of_origin)->second);
  } else if (order.size() >= limits_.count_max) {
    const auto first = crowded_out(order, [&](const auto& entry) -> const std::string* {
      return &strangers_.at(entry.second).origin;
    });
    if (first != order.end()) out.push_back(first->second);
  }
  for (const PeerId& gone : out) remove(gone);
  strangers_.emplace(peer, Stranger{origin, now, ++made_, 0, 0, 0, false});
  return out;
}

std::vector<PeerId> Strangers::show_ticket(const PeerId& peer, TimePoint now) {
  const auto found = strangers_.find(peer);
  if (found == strangers_.end()) return {};
  const bool before = found->second.has_ticket;
  found->second = Stranger{found->second.origin, now, ++made_, 0, 0, 0, true};
  const Order order = in_order(true);
  if (before || order.size() <= limits_.holders_max) return {};
  const PeerId gone = order.begin()->second;
  remove(gone);
  return {gone};
}

bool Strangers::has_ticket(const PeerId& peer) const {
  const auto found = strangers_.find(peer);
  return found != strangers_.end() && found->second.has_ticket;
}

bool Strangers::count_frame(const PeerId& peer, std::size_t bytes) {
  const auto found = strangers_.find(peer);
  if (found == strangers_.end() || found->second.has_ticket) return true;
  found->second.bytes += bytes;
  return ++found->second.frames <= limits_.frames_max && found->second.bytes <= limits_.bytes_max;
}

bool Strangers::count_answer(const PeerId& peer) {
  const auto found = strangers_.find(peer);
  if (found == strangers_.end() || found->second.has_ticket) return true;
  return ++found->second.answers <= limits_.answers_max;
}

bool Strangers::count_known_answer(const PeerId& peer, TimePoint now) {
  const auto found = strangers_.find(peer);
  if (found == strangers_.end() || found->second.has_ticket) return true;
  Stranger& stranger = found->second;
  if (stranger.known_answers == 0 || now - stranger.known_since >= limits_.known_gap) {
    stranger.known_since = now;
    stranger.known_answers = 0;
  }
  return ++stranger.known_answers <= limits_.known_answers_max;
}

bool Strangers::answered(const PeerId& peer) const {
  const auto found = strangers_.find(peer);
  return found != strangers_.end() && found->second.answers >= limits_.answers_max;
}

std::vector<PeerId> Strangers::take_expired(TimePoint now) {
  std::vector<PeerId> expired;
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    if (now - it->second.since >= limits_.timeout) {
      expired.push_back(it->first);
      it = strangers_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

}  // namespace weft
