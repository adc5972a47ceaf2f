// RoundCore: stalls: members whose data is missing, that still compute, or that wait for this
// member.
#include <algorithm>
#include <utility>

#include "weft/collective/round/round_core.h"

namespace weft {

// A member that asked longer ago than this does not wait any more, or has another round.
static constexpr int kAwaitedIntervals = 3;

PeerId RoundCore::owes() const {
  if (!attempt_->round->sealed()) {
    const Rank rank = attempt_->round->waits_for();
    return rank == self_ ? PeerId{} : id_of(rank);
  }
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (view_.members[i].id != options_.self && peers_[i].done < attempt_->round->id().round) {
      return view_.members[i].id;
    }
  }
  return {};
}

void RoundCore::note_movement(TimePoint now) {
  attempt_->progress = attempt_->moved = now;
  attempt_->asked.reset();
  attempt_->ask_at = now + options_.wait_interval;
  attempt_->computing.clear();
}

TimePoint RoundCore::next_deadline() const {
  owner_.assert_here();
  if (!attempt_ || frozen_ || !attempt_->round->input_given()) return TimePoint::max();
  const TimePoint stalls =
      attempt_->progress + (attempt_->asked ? options_.stall_timeout : options_.stall_timeout / 2);
  return std::min(stalls, attempt_->ask_at);
}

void RoundCore::on_timer(TimePoint now) {
  owner_.assert_here();
  if (next_deadline() > now) return;
  if (attempt_->ask_at <= now) ask_all(now);
  const Duration limit = attempt_->asked ? options_.stall_timeout : options_.stall_timeout / 2;
  if (attempt_->progress + limit > now) return;
  const PeerId peer_id = owes();
  const Rank rank = rank_of(peer_id);
  if (rank.value() < 0) {
    attempt_->progress = now;
  } else if (!attempt_->asked) {
    attempt_->asked = peer_id;
    send_ready(rank);
    send_control(rank, frame_type::kProgress,
                 ProgressMessage{attempt_->round->id(), true, {}, {}}.encode());
  } else {
    stalls_.push_back({*attempt_->asked, StallKind::kSilent, attempt_->round->id().round,
                       now - attempt_->progress});
    attempt_->progress = now;
    attempt_->asked.reset();
  }
}

// Members that are done are not asked. Each question also informs its receiver that this member
// waits for it.
void RoundCore::ask_all(TimePoint now) {
  attempt_->ask_at = now + options_.wait_interval;
  for (int i = 0; i < view_.size(); ++i) {
    const Rank rank(i);
    if (rank == self_ || peer(rank).done >= attempt_->round->id().round) continue;
    send_control(rank, frame_type::kProgress,
                 ProgressMessage{attempt_->round->id(), true, {}, {}}.encode());
  }
}

Status RoundCore::on_progress(Rank from, const ProgressMessage& message, TimePoint now) {
  if (message.id.view != view_.id) return {};
  if (message.query) {
    answer_progress(from, message, now);
    return {};
  }
  if (!attempt_ || message.id != attempt_->round->id()) return {};
  if (message.contributed) {
    attempt_->computing.erase(id_of(from));
  } else {
    attempt_->computing.insert(id_of(from));
  }
  if (attempt_->asked != id_of(from)) return {};
  const bool waits_for_others =
      view_.contains(message.waits_for) && message.waits_for != options_.self;
  if (message.contributed && !waits_for_others) {
    stalls_.push_back({id_of(from), StallKind::kStuck, message.id.round, now - attempt_->progress});
  }
  attempt_->progress = now;
  attempt_->asked.reset();
  return {};
}

void RoundCore::answer_progress(Rank from, const ProgressMessage& query, TimePoint now) {
  if (last_done_ && last_done_->id == query.id && !frozen_) send_done(from);
  ProgressMessage answer;
  answer.id = query.id;
  if (attempt_ && attempt_->round->id() == query.id) {
    answer.contributed = attempt_->round->input_given();
    if (answer.contributed) answer.waits_for = owes();
  } else {
    answer.contributed = query.id.round <= committed_;
  }
  if (!answer.contributed && query.id.round == committed_.next()) {
    if (awaited_round_ != query.id.round) awaited_by_.clear();
    awaited_round_ = query.id.round;
    awaited_by_[id_of(from)] = now;
  }
  send_control(from, frame_type::kProgress, answer.encode());
}

std::vector<Stall> RoundCore::take_stalls() {
  owner_.assert_here();
  return std::exchange(stalls_, {});
}

std::optional<RoundWait> RoundCore::waiting(TimePoint now) const {
  owner_.assert_here();
  if (!attempt_ || frozen_ || !attempt_->round->input_given()) return std::nullopt;
  const Duration waited = now - attempt_->moved;
  if (waited < options_.wait_interval) return std::nullopt;
  RoundWait wait;
  wait.round = attempt_->round->id().round;
  wait.elements = attempt_->round->elements();
  wait.waited = waited;
  wait.computing.assign(attempt_->computing.begin(), attempt_->computing.end());
  if (wait.computing.empty()) {
    if (const PeerId owing = owes(); rank_of(owing).value() >= 0) wait.owing.push_back(owing);
  }
  for (std::size_t i = 0; i < attempt_->entered.size(); ++i) {
    if (attempt_->entered[i] < 0) wait.absent.push_back(view_.members[i].id);
  }
  for (const Member& member : view_.members) {
    if (sink_.queued_bytes(member.id) > 0) wait.unsent.push_back(member.id);
  }
  return wait;
}

std::optional<RoundAwaited> RoundCore::awaited(TimePoint now) const {
  owner_.assert_here();
  RoundAwaited awaited;
  awaited.round = awaited_round_;
  for (const auto& [peer, asked] : awaited_by_) {
    if (now - asked < kAwaitedIntervals * options_.wait_interval) awaited.by.push_back(peer);
  }
  if (awaited.by.empty() || awaited_round_ != committed_.next()) return std::nullopt;
  return awaited;
}

}  // namespace weft
