// The side that lets newcomers in, and has those wait for which there is no room.
#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/peer/parts/fingerprint.h"
#include "weft/peer/parts/membership_core.h"

namespace weft {
namespace {

constexpr std::uint32_t kTryAgainMs = 300;
JoinRefusedMessage try_again(std::string reason) {
  return {RefusalCode::kTryAgain, kTryAgainMs, std::move(reason)};
}
// A newcomer that waits asks again after this and a little for each one before it, at most after
// the second.
constexpr std::uint32_t kQueueAgainMs = 300;
constexpr std::uint32_t kQueueAgainMsMax = 2000;
// A newcomer that has not asked for this long does not wait here any more.
constexpr Duration kQueueForgotten = std::chrono::seconds(5);

}  // namespace

void NewcomerList::refuse(const PeerId& peer, const JoinRefusedMessage& why) {
  JoinRefusedMessage message = why;
  if (message.reason.size() > kRefusalBytesMax) message.reason.resize(kRefusalBytesMax);
  core_.send(peer, frame_type::kJoinRefused, message);
  if (final_refusal(why.code)) core_.sink.on_refused(peer, invalid_argument(why.reason));
  if (why.code == RefusalCode::kBadProof)
    core_.judgement.blame(peer, Offence::kRefusedProof, why.reason);
}

void NewcomerList::on_recipe_request(const PeerId& from, const RecipeRequestMessage& message) {
  if (!core_.active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (core_.keys.lacks_key(from)) return;
  if (const auto successor = core_.keys.successor_for(from, message.proof)) {
    core_.links.accept_ticket(from);
    core_.send(from, frame_type::kRecipe, RecipeMessage{core_.options.recipe_text, successor});
    return;
  }
  const ProofLink link{from, core_.options.self, core_.links.all().at(from).exporter};
  if (const auto why = refuse_proof(core_.keys.facts(), message.proof, ProofPurpose::kRecipe, link,
                                    core_.sink.unix_time_s())) {
    refuse(from, *why);
    return;
  }
  core_.links.accept_ticket(from);
  if (core_.ending.answer_over(from)) return;
  core_.ending.expect(from, message.proof.invitation);
  core_.send(from, frame_type::kRecipe, RecipeMessage{core_.options.recipe_text, std::nullopt});
}

// Reasons that pass, or that lie with this member.
std::optional<JoinRefusedMessage> NewcomerList::refuse_now(const JoinRequestMessage& request) {
  const PeerId& peer = request.joiner.id;
  if (core_.state == MembershipState::kIsolated) {
    core_.watch.mark_restarted(peer, request.joiner.incarnation);
    return JoinRefusedMessage{
        RefusalCode::kNoQuorum, 0,
        "the asked member has no quorum at present: " + std::to_string(core_.watch.reachable()) +
            " of " + std::to_string(core_.view.size()) + " members are here, " +
            std::to_string(core_.view.quorum()) + " are needed"};
  }
  if (const Member* member = core_.view.find(peer)) {
    if (request.joiner.incarnation <= member->incarnation) {
      return try_again("a process with this identity is a member already");
    }
    core_.watch.mark_restarted(peer, request.joiner.incarnation);
    return try_again("the members are agreeing to remove the earlier process");
  }
  if (core_.view.members.size() + state_.joiners.size() >= kMembersMax) {
    return JoinRefusedMessage{RefusalCode::kFull, 0, "the run has as many members as it can"};
  }
  return queue_up(peer);
}

void NewcomerList::on_join_request(const PeerId& from, const JoinRequestMessage& message) {
  if (!core_.active()) {
    refuse(from, {RefusalCode::kNotMember, 0, "the asked peer is no member itself"});
    return;
  }
  if (core_.keys.lacks_key(from)) return;
  const ProofLink link{from, core_.options.self, core_.links.all().at(from).exporter};
  auto why = refuse_join(core_.keys.facts(), message, link, core_.sink.unix_time_s());
  if (!why) {
    // A ticket's holder may ask again whenever the answer asks it to.
    core_.links.accept_ticket(from);
    if (core_.ending.answer_over(from)) return;
    if (!core_.ending.ended()) why = refuse_now(message);
    if (why && why->retry_after_ms > 0) core_.ending.expect(from, message.proof.invitation);
  }
  if (why) {
    refuse(from, *why);
    return;
  }
  core_.ending.meet_expected(from, &message.proof.invitation);
  state_.waiting.erase(from);
  const Joiner joiner{message.joiner, core_.options.self,       core_.now, core_.now, true,
                      false,          message.proof.invitation, core_.now, core_.now, 0};
  state_.joiners.insert_or_assign(from, joiner);
  core_.links.report_trust(from);
  announce_joiner(joiner, true);
  core_.send(from, frame_type::kJoinAccepted, JoinAcceptedMessage{core_.notice});
  core_.bans.send_revocations(from);
  core_.former.announce_former(from);
  core_.ending.send_over(from);
  core_.sink.on_joiner(joiner.member);
}

void NewcomerList::on_admit_request(const PeerId& from, const AdmitRequestMessage& message) {
  if (!core_.active()) return;
  if (core_.view.contains(from)) {
    core_.send_current(from);
    return;
  }
  if (core_.ending.ended()) {
    core_.ending.send_over(from);
    return;
  }
  const auto found = state_.joiners.find(from);
  if (found == state_.joiners.end() || found->second.member.incarnation != message.incarnation) {
    if (!core_.links.may_notify_outsider(from)) return;
    // Its sponsor's message may still be under way; only the sponsor's refusal counts.
    core_.send(from, frame_type::kJoinRefused,
               JoinRefusedMessage{RefusalCode::kUnknownJoiner, 0, "prove the ticket again"});
    return;
  }
  if (!found->second.ready) core_.stirred = true;
  found->second.ready = true;
}

// A member has accepted a newcomer, or dropped it.
void NewcomerList::on_joiner(const PeerId& from, const JoinerMessage& message) {
  if (!core_.active() || !core_.view.contains(from) || core_.view.contains(message.joiner.id))
    return;
  const PeerId& peer = message.joiner.id;
  const auto found = state_.joiners.find(peer);
  if (!message.present) {
    if (found == state_.joiners.end() || found->second.sponsor != from) return;
    state_.joiners.erase(found);
    core_.links.report_trust(peer);
    core_.sink.on_joiner_gone(peer, unavailable("its sponsor lost it"));
    return;
  }
  if (found == state_.joiners.end() && state_.joiners.size() >= kMembersMax) return;
  if (core_.bans.revocations().ban_reason(peer) != nullptr) {
    // Its sponsor has missed that.
    core_.bans.send_revocations(from);
    return;
  }
  const bool linked = core_.links.up(peer);
  if (found != state_.joiners.end() && found->second.sponsor == from &&
      found->second.member.incarnation == message.joiner.incarnation) {
    return;  // announced again
  }
  // One that has lost its sponsor and found another one is no less ready for that.
  const bool ready = found != state_.joiners.end() && found->second.ready &&
                     found->second.member.incarnation == message.joiner.incarnation;
  state_.joiners.insert_or_assign(
      peer,
      Joiner{
          message.joiner, from, core_.now, core_.now, linked, ready, {}, core_.now, core_.now, 0});
  core_.links.report_trust(peer);
  core_.ending.meet_expected(peer, nullptr);
  core_.ending.send_over(peer);
  core_.sink.on_joiner(message.joiner);
}

void NewcomerList::announce_joiner(const Joiner& joiner, bool present) {
  for (const auto& [peer, member] : core_.watch.all()) {
    if (member.linked) core_.send(peer, frame_type::kJoiner, JoinerMessage{joiner.member, present});
  }
}

// Peers that became members after the joiner was accepted do not know of it.
void NewcomerList::announce_joiners_again() {
  for (const auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor == core_.options.self) announce_joiner(joiner, true);
  }
}

// Newcomers that this member has accepted search for one that can have them admitted.
void NewcomerList::send_joiners_away() {
  for (const auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor != core_.options.self) continue;
    refuse(peer, {RefusalCode::kNotMember, 0, "its sponsor has no quorum at present"});
  }
}

void NewcomerList::note_queue_elsewhere() { state_.others_waited_at = core_.now; }

bool NewcomerList::on_link_up(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return false;
  found->second.linked = true;
  found->second.seen_at = core_.now;
  core_.ending.send_over(peer);
  return true;
}

void NewcomerList::on_link_down(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return;
  found->second.linked = false;
  found->second.unlinked_since = core_.now;
}

void NewcomerList::on_sign_of_life(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found != state_.joiners.end()) found->second.seen_at = core_.now;
}

void NewcomerList::forgive() {
  for (auto& [peer, joiner] : state_.joiners) joiner.seen_at = core_.now;
}

void NewcomerList::on_view(const Lineage& before) {
  for (auto& [peer, joiner] : state_.joiners) {
    // It knows the view before from its sponsor, or asks.
    if (joiner.sponsor == core_.options.self)
      core_.send_notice(peer, core_.notice, core_.notice.previous);
    // It has to take another state first.
    if (before != core_.view.lineage) joiner.ready = false;
  }
}

void NewcomerList::admit_none() {
  for (auto& [peer, joiner] : state_.joiners) joiner.ready = false;
}

// Nothing if it is the turn of `peer`.
std::optional<JoinRefusedMessage> NewcomerList::queue_up(const PeerId& peer) {
  if (state_.gathering || state_.joiners.count(peer) != 0) return std::nullopt;
  for (auto it = state_.waiting.begin(); it != state_.waiting.end();) {
    it = core_.now - it->second.asked > kQueueForgotten ? state_.waiting.erase(it) : std::next(it);
  }
  if (state_.waiting.count(peer) == 0 && state_.waiting.size() >= kMembersMax) {
    return JoinRefusedMessage{RefusalCode::kFull, 0, "too many others wait to join"};
  }
  Waiting& own = state_.waiting.try_emplace(peer, Waiting{core_.now, core_.now}).first->second;
  own.asked = core_.now;
  const auto before =
      std::count_if(state_.waiting.begin(), state_.waiting.end(), [&](const auto& other) {
        return std::pair(other.second.since, other.first) < std::pair(own.since, peer);
      });
  const auto taken = static_cast<int>(state_.joiners.size());
  if (taken + static_cast<int>(before) < core_.options.joins_at_once) return std::nullopt;
  const std::uint32_t again =
      std::min(kQueueAgainMsMax, kQueueAgainMs + 50 * static_cast<std::uint32_t>(before));
  return JoinRefusedMessage{RefusalCode::kQueued, again,
                            std::to_string(taken) + " others take the state at present; place " +
                                std::to_string(before + 1) + " of " +
                                std::to_string(state_.waiting.size()) + " in the queue"};
}

bool NewcomerList::others_wait() const {
  if (state_.others_waited_at && core_.now - *state_.others_waited_at < kQueueForgotten)
    return true;
  return std::any_of(state_.waiting.begin(), state_.waiting.end(), [&](const auto& each) {
    return core_.now - each.second.asked < kQueueForgotten;
  });
}

void NewcomerList::note_progress(const PeerId& peer, std::uint64_t progress) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end() || found->second.progress == progress) return;
  found->second.progress = progress;
  found->second.moved = core_.now;
}

// A newcomer that makes no progress, or has had its turn, makes room for one that waits, and may go
// on at the end of the queue. Members that accept others are informed that a newcomer waits here.
void NewcomerList::take_turns() {
  if (state_.gathering || !others_wait()) return;
  const bool here = !state_.waiting.empty();
  std::vector<std::pair<PeerId, std::string>> over;
  for (const auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor != core_.options.self) {
      if (here && core_.links.up(joiner.sponsor)) {
        core_.send(joiner.sponsor, frame_type::kJoinRefused,
                   JoinRefusedMessage{RefusalCode::kQueued, 0, "newcomers wait"});
      }
    } else if (joiner.ready) {
      continue;
    } else if (core_.now - joiner.moved >= core_.options.join_stall_timeout) {
      over.emplace_back(peer, "it came no further while others waited for their turn");
    } else if (core_.now - joiner.since >= core_.options.join_turn) {
      over.emplace_back(peer, "others waited, and it has had its turn");
    }
  }
  for (const auto& [peer, why] : over) {
    drop_joiner(peer, timed_out(why));
    refuse(peer, {RefusalCode::kUnknownJoiner, 0, why});
  }
}

void NewcomerList::drop_joiner(const PeerId& peer, const Status& why) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return;
  if (found->second.sponsor == core_.options.self) announce_joiner(found->second, false);
  state_.joiners.erase(found);
  core_.links.report_trust(peer);
  core_.sink.on_joiner_gone(peer, why);
}

// A joiner of this member's that is lost or silent is given up; another member's lasts as long as
// that one is a member, and a while longer.
void NewcomerList::joiners_timer() {
  std::vector<std::pair<PeerId, Status>> lost;
  for (auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor != core_.options.self) {
      if (core_.view.contains(joiner.sponsor)) {
        joiner.seen_at = core_.now;
      } else if (core_.now - joiner.seen_at >= core_.options.join_timeout) {
        lost.emplace_back(peer, timed_out("the member that accepted it is lost"));
      }
    } else if (!joiner.linked &&
               core_.now - joiner.unlinked_since >= core_.options.suspicion_timeout) {
      lost.emplace_back(peer, unavailable("its connection broke"));
    } else if (joiner.linked && core_.now - joiner.seen_at >= core_.options.join_timeout) {
      lost.emplace_back(peer, timed_out("no sign of life"));
    }
  }
  for (const auto& [peer, why] : lost) drop_joiner(peer, why);
  take_turns();
}

std::vector<Member> NewcomerList::newcomers() const {
  std::vector<Member> ready;
  for (const auto& [peer, joiner] : state_.joiners) {
    if (core_.bans.revocations().ban_reason(peer) != nullptr) continue;
    if (joiner.ready && joiner.linked && core_.view.members.size() + ready.size() < kMembersMax) {
      ready.push_back(joiner.member);
    }
  }
  return ready;
}

bool NewcomerList::has_ready_joiner() const {
  return std::any_of(state_.joiners.begin(), state_.joiners.end(),
                     [](const auto& entry) { return entry.second.ready && entry.second.linked; });
}

void NewcomerList::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
