#include "weft/collective/parts/trainer_side.h"

#include <utility>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

void TrainerSide::request_turn() {
  if (state_.given == TurnKind::kLoadState && core_.taking.holds_snapshot()) {
    core_.taking.on_loaded();
  }
  if (state_.given == TurnKind::kMerge && core_.branches.merging()) core_.branches.on_merged();
  state_.given = TurnKind::kWait;
  state_.lent = false;
  state_.training.reset();
  state_.applying.reset();
  state_.requested = true;
  core_.late.on_trainer();
  core_.round.on_request();
}

std::optional<Result<Turn>> TrainerSide::take_turn() {
  if (!state_.requested) return std::nullopt;
  std::optional<Result<Turn>> turn = decide();
  if (!turn) return std::nullopt;
  state_.requested = false;
  if (turn->ok()) state_.given = (*turn)->kind;
  if (state_.given == TurnKind::kTrain) state_.training = {(*turn)->view, (*turn)->round};
  return turn;
}

Turn TrainerSide::make_turn(TurnKind kind, Round round) const {
  Turn turn;
  turn.kind = kind;
  turn.round = round;
  turn.view = core_.view().id;
  turn.rank = core_.view().rank_of(core_.self());
  turn.members = core_.view().size();
  for (const Member& member : core_.view().members) {
    turn.peers.push_back(member.id);
    turn.halvings.push_back(member.halvings);
  }
  return turn;
}

std::optional<Result<Turn>> TrainerSide::decide() {
  if (core_.ending.reached()) {
    if (auto turn = core_.ending.turn()) return *turn;
    return std::nullopt;
  }
  if (!state_.failure.ok() && !core_.ending.coming()) return state_.failure;
  const HeldOffer& offer = core_.offer;
  if (!state_.has_state && core_.giving.wanted() && offer.holds() &&
      core_.giving.published() != offer.round()) {
    return core_.giving.order(offer.round());
  }
  if (!state_.has_state || core_.adoption.open()) {
    if (auto turn = core_.taking.load_turn()) return *turn;
    return std::nullopt;
  }
  if (core_.branches.merges_at(state_.round)) return core_.branches.merge_turn();
  if (auto turn = apply_turn()) return *turn;
  if (!core_.is_member() || state_.round != core_.rounds.committed()) return std::nullopt;
  if (!core_.branches.fits(core_.view().lineage)) return std::nullopt;
  if (core_.giving.wants_own()) return core_.giving.order(state_.round);
  if (!may_train()) return std::nullopt;
  return make_turn(TurnKind::kTrain, state_.round.next());
}

bool TrainerSide::may_train() const {
  // Its members wait for another branch to take what they know.
  if (core_.view().yields_to) return false;
  if (core_.giving.holds_rounds()) return false;
  const Membership& membership = core_.membership;
  if (membership.frozen() || membership.state() != MembershipState::kMember) return false;
  // An open round is one that this member was too late for.
  return !core_.rounds.open() && core_.start.may_start() && core_.rounds.can_aggregate().ok();
}

std::optional<Turn> TrainerSide::apply_turn() {
  if (core_.is_member() && state_.round >= core_.rounds.committed()) return std::nullopt;
  const Round next = state_.round.next();
  Turn turn = make_turn(TurnKind::kApply, next);
  SharedBytes reports;
  if (const ResultLog::Entry* entry = core_.log.find(next)) {
    state_.applying = entry->values;
    reports = entry->reports;
  } else {
    std::optional<StateFetch::FetchedResult> fetched = core_.taking.take_result(next);
    if (!fetched) return std::nullopt;
    state_.applying = fetched->values;
    reports = fetched->reports;
    core_.round.keep_result(
        {next, fetched->hash, std::move(fetched->values), std::move(fetched->reports)});
  }
  turn.reduced = std::as_const(*state_.applying).span();
  turn.reports = reports_of(reports);
  return turn;
}

std::optional<Turn> TrainerSide::take_snapshot_order() {
  if (!state_.lent || !core_.is_member() || !state_.has_state ||
      state_.round != core_.rounds.committed()) {
    return std::nullopt;
  }
  if (!state_.failure.ok() || core_.branches.merging() ||
      !core_.branches.fits(core_.view().lineage)) {
    return std::nullopt;
  }
  // While sums are under way a newer state is near, and the links are busy anyway.
  if (core_.server.throttle().exchanging() || !core_.giving.wants_own()) return std::nullopt;
  return core_.giving.order(state_.round);
}

void TrainerSide::applied(Round round, StateHash hash) {
  state_.round = round;
  core_.way.on_applied();
  state_.hash = hash.total;
  if (core_.is_member()) core_.comparison.own(round, std::move(hash));
  core_.ending.on_state();
}

void TrainerSide::take_state(Round round) {
  state_.has_state = true;
  state_.round = round;
}

void TrainerSide::fail(Status why) {
  if (state_.failure.ok()) state_.failure = std::move(why);
  // The training side learns the reason from its next turn.
  core_.rounds.cancel(aborted(state_.failure.message()), core_.now());
}

void TrainerSide::add_to(SwarmStatus& status) const {
  status.committed = std::max(core_.rounds.committed(), state_.round);
  status.applied = state_.round;
  status.state_hash = state_.hash;
}

void TrainerSide::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
