#include "weft/swarm/member_rounds.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "weft/io/checkpoint.h"
#include "weft/swarm/state_hash.h"

namespace weft {

MemberRounds::MemberRounds(const MemberModel& model, MemberHooks hooks, Swarm& swarm)
    : arena_(model.arena.share()),
      optimizer_(model.optimizer),
      program_(model.program),
      hooks_(std::move(hooks)),
      swarm_(swarm) {}

StateHash MemberRounds::hash() const {
  return hash_state(arena_, optimizer_, arena_.state_names());
}

Bytes MemberRounds::encode() const {
  CheckpointInfo info;
  info.step = static_cast<std::int64_t>(done_.value());
  info.recipe = program_;
  info.optimizer = optimizer_.name();
  info.optimizer_steps = optimizer_.steps();
  return serialise_state(arena_, info);
}

Status MemberRounds::load(const Turn& turn) {
  WEFT_TRY_ASSIGN(const CheckpointInfo info, read_state_info(turn.state.span()));
  if (info.optimizer != optimizer_.name()) {
    return invalid_argument(
        fmt::format("state: expected that of the optimizer {}, as this member "
                    "has, got that of {}; make this one with the group's",
                    optimizer_.name(), info.optimizer));
  }
  WEFT_TRY(load_state(turn.state.span(), arena_));
  optimizer_.set_steps(info.optimizer_steps);
  done_ = turn.round;
  last_ = {};
  return {};
}

Status MemberRounds::late(const char* call) {
  const Result<SwarmStatus> status = swarm_.status();
  return timed_out(fmt::format(
      "{}: no end after {:.1f} s, with {} rounds done; this member was \"{}\" among {} and has "
      "left; "
      "join anew, or allow for more by SwarmTrainerOptions::timeout",
      call, to_seconds(hooks_.timeout), done_.value(), status.ok() ? status->state : "silent",
      status.ok() ? status->members.size() : 0));
}

Result<MemberRounds::Way> MemberRounds::take_turn() {
  WEFT_TRY_ASSIGN(Turn turn, swarm_.next());
  switch (turn.kind) {
    case TurnKind::kWait:
      break;
    case TurnKind::kSnapshot:
      swarm_.publish_state(turn.round, encode());
      break;
    case TurnKind::kLoadState:
      WEFT_TRY(load(turn));
      return Way::kMoved;
    case TurnKind::kApply: {
      WEFT_TRY_ASSIGN(last_, update(turn.round, turn.reduced, turn.reports));
      return Way::kMoved;
    }
    case TurnKind::kMerge:  // only where branches go on alone, which no group of ours does
      return internal_error("turn: expected no other branch of the group");
    case TurnKind::kTrain:
      turn_ = std::move(turn);
      return Way::kRound;
    case TurnKind::kFinished:
      finished_ = true;
      return Way::kFinished;
  }
  return Way::kWait;
}

Result<MemberRounds::Way> MemberRounds::follow(TimePoint deadline) {
  for (;;) {
    WEFT_TRY_ASSIGN(const Way way, take_turn());
    if (way != Way::kWait || clock_.now() > deadline) return way;
    if (!in_round_ && hooks_.stop && hooks_.stop()) return way;
  }
}

Result<bool> MemberRounds::next() {
  const TimePoint deadline = deadline_after(clock_, hooks_.timeout);
  in_round_ = false;
  while (!finished_) {
    if (hooks_.stop && hooks_.stop()) return false;
    WEFT_TRY_ASSIGN(const Way way, follow(deadline));
    if (way == Way::kRound) {
      in_round_ = true;
      arena_.zero_gradients();
      statistics_.emplace(arena_);
      return true;
    }
    if (way == Way::kWait && clock_.now() > deadline) return late("next");
  }
  return false;
}

std::span<const float> MemberRounds::weighted_gradients(double weight) {
  const std::span<const float> own = std::as_const(arena_).gradients();
  if (weight == 1) return own;
  weighted_.assign(own.size(), 0.0F);
  const auto factor = static_cast<float>(weight);
  // Without samples the gradients are nobody's, whatever stands there.
  if (weight != 0) {
    std::ranges::transform(own, weighted_.begin(),
                           [factor](float value) { return factor * value; });
  }
  return weighted_;
}

Result<std::span<const float>> MemberRounds::exchange(std::span<const float> gradients,
                                                      TimePoint deadline) {
  const auto elements = static_cast<std::int64_t>(gradients.size());
  // The state rests while this member waits: a newcomer need not wait for the round's end.
  swarm_.lend_state([this] { return encode(); });
  WEFT_TRY(swarm_.begin(elements));
  swarm_.contribute(0, gradients);
  WEFT_TRY(swarm_.report(part_.encode()));
  // finish() then answers at once: with kTimeout where the round has not ended.
  swarm_.round_ended(std::max(deadline - clock_.now(), Duration::zero()));
  Result<std::span<const float>> sums = swarm_.finish();
  swarm_.lend_state(nullptr);
  return sums;
}

Result<SwarmStep> MemberRounds::update(Round round, std::span<const float> sums,
                                       std::span<const Bytes> reports) {
  const auto elements = static_cast<std::size_t>(arena_.layout().num_elements());
  if (sums.size() != elements) {
    return corrupt(
        fmt::format("round {}: expected {} sums, got {}", round.value(), elements, sums.size()));
  }
  const WeightedPart all = sum_of_parts(reports);
  SwarmStep step;
  step.weight = all.weight;
  if (const auto weight = static_cast<float>(all.weight); weight > 0) {
    step.loss = all.weighted_loss / all.weight;
    mean_.resize(elements);
    std::ranges::transform(sums, mean_.begin(), [weight](float sum) { return sum / weight; });
    RunningStatistics::apply(arena_, mean_, 1.0);
    RunningStatistics::clear(arena_, mean_);
    if (hooks_.before_update) hooks_.before_update(mean_);
    optimizer_.step(mean_);
  }
  done_ = round;
  swarm_.applied(round, hash());
  return step;
}

Status MemberRounds::check_step(const SwarmPart& part) const {
  if (!in_round_) {
    return invalid_argument("step: expected next() to have given a round since the last step");
  }
  if (!(part.weight >= 0) || !std::isfinite(static_cast<float>(part.weight))) {
    return invalid_argument(
        fmt::format("step: expected a weight of at least 0, got {}", part.weight));
  }
  return {};
}

Result<SwarmStep> MemberRounds::step(const SwarmPart& part) {
  const TimePoint deadline = deadline_after(clock_, hooks_.timeout);
  statistics_->hand_over(1.0);
  const std::span<const float> gradients = weighted_gradients(part.weight);
  // The gradients are f32, and so is what they are multiplied by.
  const double weight = static_cast<float>(part.weight);
  part_ = {weight, weight > 0 ? weight * part.loss : 0.0};
  for (;;) {
    const Result<std::span<const float>> sums = exchange(gradients, deadline);
    if (sums.ok()) {
      in_round_ = false;
      WEFT_TRY_ASSIGN(SwarmStep step, update(turn_.round, *sums, swarm_.reports()));
      step.counted = true;
      return step;
    }
    if (sums.status().code() == Code::kTimeout) return late("step");
    if (sums.status().code() != Code::kAborted) return sums.status();
    // Cut short: the members have changed, and the state has not. Their next round is this one
    // again, unless enough others had its result already, or this member is no longer up to date.
    WEFT_TRY_ASSIGN(const Way way, follow(deadline));
    if (way == Way::kRound) continue;
    if (way == Way::kWait) return late("step");
    in_round_ = false;
    return way == Way::kMoved ? last_ : SwarmStep();
  }
}

Status MemberRounds::leave(Duration limit) {
  const TimePoint deadline = deadline_after(clock_, limit);
  // Others may still need the last state: its end is seen together.
  const bool last = done_ > Round() && done_ == hooks_.last_round;
  while (last && !finished_ && clock_.now() < deadline) {
    if (!take_turn().ok()) break;
  }
  return swarm_.leave(std::max(deadline - clock_.now(), Duration::zero()));
}

}  // namespace weft
