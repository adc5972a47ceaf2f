// The newcomers that members have let in, and those that wait: few take the state at a time.
#include <algorithm>

#include "weft/peer/membership_core.h"

namespace weft {
namespace {

// Who waits asks again after this and a little for each one before it, at most after the second.
constexpr std::uint32_t kQueueAgainMs = 300;
constexpr std::uint32_t kQueueAgainMsMax = 2000;
// Who has not asked for so long waits here no more.
constexpr Duration kQueueForgotten = std::chrono::seconds(5);
// What a newcomer waits for is told when it changes, at most once in the first, and again after the
// second.
constexpr Duration kWaitToldGap = std::chrono::seconds(1);
constexpr Duration kWaitToldAgain = std::chrono::seconds(10);

}  // namespace

// Nothing if it is the turn of `peer`.
std::optional<JoinRefusedMessage> Membership::Core::queue_up(const PeerId& peer) {
  if (gathering || joiners.count(peer) != 0) return std::nullopt;
  for (auto it = waiting.begin(); it != waiting.end();) {
    it = now - it->second.asked > kQueueForgotten ? waiting.erase(it) : std::next(it);
  }
  if (waiting.count(peer) == 0 && waiting.size() >= kMembersMax) {
    return JoinRefusedMessage{RefusalCode::kFull, 0, "too many others wait to join"};
  }
  Waiting& own = waiting.try_emplace(peer, Waiting{now, now}).first->second;
  own.asked = now;
  const auto before = std::count_if(waiting.begin(), waiting.end(), [&](const auto& other) {
    return std::pair(other.second.since, other.first) < std::pair(own.since, peer);
  });
  const auto taken = static_cast<int>(joiners.size());
  if (taken + static_cast<int>(before) < options.joins_at_once) return std::nullopt;
  const std::uint32_t again =
      std::min(kQueueAgainMsMax, kQueueAgainMs + 50 * static_cast<std::uint32_t>(before));
  return JoinRefusedMessage{RefusalCode::kQueued, again,
                            std::to_string(taken) + " others take the state at present; place " +
                                std::to_string(before + 1) + " of " +
                                std::to_string(waiting.size()) + " in the queue"};
}

bool Membership::Core::others_wait() const {
  if (others_waited_at && now - *others_waited_at < kQueueForgotten) return true;
  return std::any_of(waiting.begin(), waiting.end(),
                     [&](const auto& each) { return now - each.second.asked < kQueueForgotten; });
}

void Membership::Core::note_progress(const PeerId& peer, std::uint64_t progress) {
  const auto found = joiners.find(peer);
  if (found == joiners.end() || found->second.progress == progress) return;
  found->second.progress = progress;
  found->second.moved = now;
}

// A newcomer that comes no further, or has had its turn, makes room for one that waits, at the end
// of whose queue it may go on. Members that let others in are told that somebody waits here.
void Membership::Core::take_turns() {
  if (gathering || !others_wait()) return;
  const bool here = !waiting.empty();
  std::vector<std::pair<PeerId, std::string>> over;
  for (const auto& [peer, joiner] : joiners) {
    if (joiner.sponsor != options.self) {
      if (here && links.count(joiner.sponsor) != 0) {
        send(joiner.sponsor, frame_type::kJoinRefused,
             JoinRefusedMessage{RefusalCode::kQueued, 0, "newcomers wait"});
      }
    } else if (joiner.ready) {
      continue;
    } else if (now - joiner.moved >= options.join_stall_timeout) {
      over.emplace_back(peer, "it came no further while others waited for their turn");
    } else if (now - joiner.since >= options.join_turn) {
      over.emplace_back(peer, "others waited, and it has had its turn");
    }
  }
  for (const auto& [peer, why] : over) {
    drop_joiner(peer, timed_out(why));
    refuse(peer, {RefusalCode::kUnknownJoiner, 0, why});
  }
}

// The joiner: somebody alive says that it is worth the wait.
void Membership::Core::wait_on(const std::string& text) {
  JoinAttempt& a = *attempt;
  if (a.ends != kNever) a.ends = now + options.join_timeout;
  const bool told = !a.waiting_text.empty();
  const Duration since = now - a.waiting_told;
  if (told && since < (text == a.waiting_text ? kWaitToldAgain : kWaitToldGap)) return;
  a.waiting_text = text;
  a.waiting_told = now;
  sink.on_join_waiting(text);
}

void Membership::Core::drop_joiner(const PeerId& peer, const Status& why) {
  const auto found = joiners.find(peer);
  if (found == joiners.end()) return;
  if (found->second.sponsor == options.self) tell_joiner(found->second, false);
  joiners.erase(found);
  tell_trust(peer);
  sink.on_joiner_gone(peer, why);
}

// A joiner of this member's that is lost or silent is given up; another member's lasts as long as
// that one is a member, and a while longer.
void Membership::Core::joiners_timer() {
  std::vector<std::pair<PeerId, Status>> lost;
  for (auto& [peer, joiner] : joiners) {
    if (joiner.sponsor != options.self) {
      if (view.contains(joiner.sponsor)) {
        joiner.heard = now;
      } else if (now - joiner.heard >= options.join_timeout) {
        lost.emplace_back(peer, timed_out("the member that let it in is gone"));
      }
    } else if (!joiner.linked && now - joiner.unlinked_since >= options.suspicion_timeout) {
      lost.emplace_back(peer, unavailable("its connection broke"));
    } else if (joiner.linked && now - joiner.heard >= options.join_timeout) {
      lost.emplace_back(peer, timed_out("no sign of life"));
    }
  }
  for (const auto& [peer, why] : lost) drop_joiner(peer, why);
  take_turns();
}

std::vector<Member> Membership::Core::newcomers() const {
  std::vector<Member> ready;
  for (const auto& [peer, joiner] : joiners) {
    if (revocations.ban_reason(peer) != nullptr) continue;
    if (joiner.ready && joiner.linked && view.members.size() + ready.size() < kMembersMax) {
      ready.push_back(joiner.member);
    }
  }
  return ready;
}

bool Membership::Core::has_ready_joiner() const {
  return std::any_of(joiners.begin(), joiners.end(),
                     [](const auto& entry) { return entry.second.ready && entry.second.linked; });
}

// --- Membership.

void Membership::gather(bool on) { core_->gathering = on; }

bool Membership::queued() const { return core_->attempt && core_->attempt->queued; }

}  // namespace weft
