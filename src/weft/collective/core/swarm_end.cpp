// SwarmCore: the end of a run, which all members and newcomers come to alike.
//
// Whoever has applied the last round tells the others Finished and waits for theirs. Newcomers are
// let in up to then, and get the final state as any other; they are not admitted any more, and say
// Finished too. Members go when nobody needs them, and tell those whom they leave without a state.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/wire/frame_type.h"

namespace weft {

bool SwarmCore::at_end() const {
  return options_.last_round > Round() && trainer_round_ >= options_.last_round;
}

// All members are done with the last round, and this one knows it.
bool SwarmCore::end_is_committed() const {
  return options_.last_round > Round() && rounds_.committed() >= options_.last_round;
}

// The final state is here, whole; the training side has yet to load it.
bool SwarmCore::end_is_coming() const {
  return options_.last_round > Round() && snapshot_ && snapshot_->round >= options_.last_round;
}

// The state after the last round is in place.
void SwarmCore::reach_end() {
  if (!has_state_ || !at_end() || finished_at_ != TimePoint::max()) return;
  finished_at_ = now();
  for (const PeerId& peer : partners()) tell_finished(peer);
  if (is_member()) {
    membership_.run_over(trainer_round_, now() + options_.linger, now());
    return;
  }
  event(SwarmEventKind::kRunOver,
        fmt::format("the run has ended with round {}, and its final state is here",
                    trainer_round_.value()))
      .round = trainer_round_;
}

void SwarmCore::tell_finished(const PeerId& peer) {
  const View& group = is_member() ? view() : sync_view_;
  if (!group.contains(peer) || !transport_.linked(peer)) return;
  send(peer, {frame_type::kFinished, FinishedMessage{trainer_round_}.encode(), {}});
}

// From a member, or from a newcomer that has got the final state.
void SwarmCore::on_finished(const PeerId& from) {
  if (view().contains(from)) rounds_.learn_committed(options_.last_round, now());
  finished_.insert(from);
  if (leaving_ && at_end() && others_finished()) left_ = true;
}

bool SwarmCore::others_finished() const {
  if (finished_at_ == TimePoint::max()) return false;
  const Duration waited = now() - finished_at_;
  if (waited >= options_.finish_timeout) return true;
  return std::ranges::all_of(view().members, [&](const Member& member) {
    // One whose link is gone has ended its process, or crashed after it was done.
    const bool gone = !transport_.linked(member.id) && waited >= options_.finish_timeout / 5;
    return member.id == options_.membership.self || finished_.contains(member.id) || gone;
  });
}

// Whether a newcomer takes the final state from here, or may be about to.
bool SwarmCore::is_needed() const {
  return membership_.awaits_newcomers(now()) ||
         std::ranges::any_of(joiners_, [&](const PeerId& joiner) {
           return transport_.linked(joiner) && !finished_.contains(joiner);
         });
}

bool SwarmCore::holds_on() {
  if (!is_member() || finished_at_ == TimePoint::max()) return false;
  if (!others_finished()) return true;
  if (now() >= finished_at_ + options_.linger || !is_needed()) return false;
  if (!std::exchange(told_lingering_, true)) {
    event(SwarmEventKind::kRunOver,
          fmt::format("the run has ended with round {}; newcomers are given its final state, for "
                      "at most {:.0f} s",
                      trainer_round_.value(), to_seconds(options_.linger)))
        .round = trainer_round_;
  }
  return true;
}

std::optional<Turn> SwarmCore::ending_turn() {
  if (holds_on()) {
    const bool wanted = server_.wanted() && !publishing_ && published_ != trainer_round_;
    if (!wanted) return std::nullopt;
    return snapshot_turn(trainer_round_);
  }
  membership_.stop_serving(now());
  return make_turn(TurnKind::kFinished, trainer_round_);
}

// --- The newcomer, and the member that lags.

void SwarmCore::on_run_over(Round round) {
  if (has_state_ && at_end()) return;
  event(SwarmEventKind::kRunOver,
        fmt::format("the run has ended with round {}; its final state is taken while members still "
                    "give it",
                    round.value()))
      .round = round;
}

void SwarmCore::on_run_gone(const std::optional<Round>& ended_with) {
  if ((has_state_ && at_end()) || end_is_coming()) return;
  if (ended_with) {
    miss_end(fmt::format("the run ended at round {}, before this peer had taken its state",
                         ended_with->value()));
    return;
  }
  const Round newest = std::max({fetch_.newest_known(), sync_view_.base_round, trainer_round_});
  std::string heard;
  if (newest > Round()) {
    heard = fmt::format("; when last heard of it was at round {}", newest.value());
    if (options_.last_round > Round()) heard += fmt::format(" of {}", options_.last_round.value());
  }
  miss_end(
      fmt::format("the run is gone: nobody listens at the addresses of its members any more"
                  "{}. It has ended, or all its members were killed",
                  heard));
}

void SwarmCore::miss_end(std::string text) {
  event(SwarmEventKind::kRunMissed, text).round = options_.last_round;
  fail(unavailable(std::move(text)));
}

std::set<PeerId> SwarmCore::partners() const {
  std::set<PeerId> out = joiners_;
  for (const View* group : {&view(), &sync_view_}) {
    for (const Member& member : group->members) out.insert(member.id);
  }
  out.erase(options_.membership.self);
  return out;
}

}  // namespace weft
