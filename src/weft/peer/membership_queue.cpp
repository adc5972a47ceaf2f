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

void NewcomerList::note_queue_elsewhere() { state_.others_waited_at = core_.now; }

bool NewcomerList::on_link_up(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return false;
  found->second.linked = true;
  found->second.heard = core_.now;
  core_.ending.tell_over(peer);
  return true;
}

void NewcomerList::on_link_down(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return;
  found->second.linked = false;
  found->second.unlinked_since = core_.now;
}

void NewcomerList::heard(const PeerId& peer) {
  const auto found = state_.joiners.find(peer);
  if (found != state_.joiners.end()) found->second.heard = core_.now;
}

void NewcomerList::forgive() {
  for (auto& [peer, joiner] : state_.joiners) joiner.heard = core_.now;
}

void NewcomerList::on_view(const Lineage& before) {
  for (auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor == core_.options.self)
      core_.send(peer, frame_type::kViewNotice, core_.notice);
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

// A newcomer that comes no further, or has had its turn, makes room for one that waits, at the end
// of whose queue it may go on. Members that let others in are told that somebody waits here.
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

// The joiner: somebody alive says that it is worth the wait.
void Joining::wait_on(const std::string& text) {
  JoinAttempt& a = *state_.attempt;
  if (a.ends != kNever) a.ends = core_.now + core_.options.join_timeout;
  const bool told = !a.waiting_text.empty();
  const Duration since = core_.now - a.waiting_told;
  if (told && since < (text == a.waiting_text ? kWaitToldAgain : kWaitToldGap)) return;
  a.waiting_text = text;
  a.waiting_told = core_.now;
  core_.sink.on_join_waiting(text);
}

void NewcomerList::drop_joiner(const PeerId& peer, const Status& why) {
  const auto found = state_.joiners.find(peer);
  if (found == state_.joiners.end()) return;
  if (found->second.sponsor == core_.options.self) tell_joiner(found->second, false);
  state_.joiners.erase(found);
  core_.links.tell_trust(peer);
  core_.sink.on_joiner_gone(peer, why);
}

// A joiner of this member's that is lost or silent is given up; another member's lasts as long as
// that one is a member, and a while longer.
void NewcomerList::joiners_timer() {
  std::vector<std::pair<PeerId, Status>> lost;
  for (auto& [peer, joiner] : state_.joiners) {
    if (joiner.sponsor != core_.options.self) {
      if (core_.view.contains(joiner.sponsor)) {
        joiner.heard = core_.now;
      } else if (core_.now - joiner.heard >= core_.options.join_timeout) {
        lost.emplace_back(peer, timed_out("the member that let it in is gone"));
      }
    } else if (!joiner.linked &&
               core_.now - joiner.unlinked_since >= core_.options.suspicion_timeout) {
      lost.emplace_back(peer, unavailable("its connection broke"));
    } else if (joiner.linked && core_.now - joiner.heard >= core_.options.join_timeout) {
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

// --- Membership.

void Membership::gather(bool on) { core_->newcomers.gather(on); }

bool Membership::queued() const {
  return core_->joining.attempt() && core_->joining.attempt()->queued;
}

}  // namespace weft
