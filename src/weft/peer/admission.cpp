#include "weft/peer/admission.h"

namespace weft {
namespace {

JoinRefusedMessage refusal(RefusalCode code, std::string reason) {
  return {code, 0, std::move(reason)};
}

}  // namespace

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
  if (now_unix_s >= proof.expiry_unix_s) {
    return refusal(RefusalCode::kExpired, "the ticket expired " +
                                              std::to_string(now_unix_s - proof.expiry_unix_s) +
                                              " s ago; ask a member for a new one");
  }
  if (!check_proof(proof, facts.invitation_key, purpose, link)) {
    return refusal(RefusalCode::kBadProof,
                   "the ticket was not made by a member of this run, or it was altered");
  }
  return std::nullopt;
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
      return true;
    case RefusalCode::kTryAgain:
    case RefusalCode::kNotMember:
    case RefusalCode::kUnknownJoiner:
    case RefusalCode::kFull:
      return false;
  }
  return false;
}

bool Strangers::add(const PeerId& peer, TimePoint now) {
  if (!contains(peer) && static_cast<int>(strangers_.size()) >= count_max_) return false;
  strangers_.insert_or_assign(peer, Stranger{now, 0});
  return true;
}

bool Strangers::count_frame(const PeerId& peer) {
  const auto found = strangers_.find(peer);
  return found == strangers_.end() || ++found->second.frames <= frames_max_;
}

std::vector<PeerId> Strangers::take_expired(TimePoint now) {
  std::vector<PeerId> expired;
  for (auto it = strangers_.begin(); it != strangers_.end();) {
    if (now - it->second.since >= timeout_) {
      expired.push_back(it->first);
      it = strangers_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

}  // namespace weft
