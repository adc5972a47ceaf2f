#include "weft/sim/swarm_member.h"

#include <utility>

#include "weft/base/check.h"

namespace weft::sim {

SwarmMember::SwarmMember(SimNetwork& network, SwarmCoreOptions options,
                         SwarmMemberSettings settings, GroupTrainer& trainer, MemberWatch& watch)
    : VirtualPeer(network, settings.id),
      settings_(std::move(settings)),
      trainer_(trainer),
      watch_(watch),
      state_(trainer.first_state()) {
  options.membership.self = settings_.id;
  options.membership.incarnation = settings_.incarnation;
  options.membership.endpoints = transport().endpoints();
  core_ = std::make_unique<SwarmCore>(std::move(options), own_transport(), network.clock(),
                                      Rng(settings_.seed));
}

void SwarmMember::found() {
  core_->found();
  core_->request_turn();
  wake();
}

void SwarmMember::join(const Ticket& ticket) {
  core_->join(ticket);
  core_->request_turn();
  wake();
}

void SwarmMember::fail(Status why) {
  failure_ = std::move(why);
  crash(SimCrash::kKilled);
}

void SwarmMember::take_events() {
  for (const SwarmEvent& event : core_->take_events()) watch_.on_event(*this, event);
}

void SwarmMember::settle() {
  while (alive()) {
    take_events();
    if (const std::optional<RoundOutcome> outcome = core_->take_outcome()) {
      if (Status done = take(*outcome); !done.ok()) return fail(std::move(done));
    }
    const std::optional<Result<Turn>> turn = core_->take_turn();
    if (!turn) {
      const std::optional<Turn> order = core_->take_snapshot_order();
      if (!order) break;
      core_->publish_state(order->round, trainer_.encode(state_, settings_.run_id));
      continue;
    }
    if (!turn->ok()) return fail(turn->status());
    if (Status done = do_turn(**turn); !done.ok()) return fail(std::move(done));
  }
}

Status SwarmMember::do_turn(const Turn& turn) {
  switch (turn.kind) {
    case TurnKind::kWait:
      return {};
    case TurnKind::kTrain:
      return train(turn);
    case TurnKind::kFinished:
      // As a process that has its last round: it ends, and its links go down.
      finished_ = true;
      crash(SimCrash::kKilled);
      return {};
    case TurnKind::kLoadState:
      WEFT_TRY(trainer_.adopt(state_, turn.state.span()));
      done_ = turn.round;
      break;
    case TurnKind::kSnapshot:
      core_->publish_state(turn.round, trainer_.encode(state_, settings_.run_id));
      break;
    case TurnKind::kMerge:
      // A state that is of no use is left out by all members alike, as on real machines.
      static_cast<void>(trainer_.merge(state_, turn.state.span(), turn.weight));
      break;
    case TurnKind::kApply:
      WEFT_TRY(apply(turn));
      break;
  }
  core_->request_turn();
  return {};
}

Status SwarmMember::train(const Turn& turn) {
  turn_ = turn;
  turn_.reduced = {};
  WEFT_TRY_ASSIGN(RoundPart part, trainer_.compute(state_, turn));
  if (settings_.liar) part.values = settings_.liar->forge(part.values);
  const Duration takes = from_seconds(part.samples_computed / settings_.samples_per_second);
  part.report.compute_seconds = to_seconds(takes);
  part_ = std::make_unique<RoundPart>(std::move(part));
  const bool rests = trainer_.trainer().rests_in_rounds();
  if (rests && !trainer_.trainer().is_evaluation(turn.round)) core_->lend_state(true);
  core_->begin(turn.view, turn.round, static_cast<std::int64_t>(part_->values.size()));
  after(takes, [this, mine = ++tries_] {
    if (mine != tries_ || part_ == nullptr) return;
    core_->contribute(0, part_->values);
    core_->report(part_->report.encode());
  });
  return {};
}

Status SwarmMember::take(const RoundOutcome& outcome) {
  part_.reset();
  ++tries_;
  if (outcome.status.ok()) {
    Turn turn = turn_;
    turn.round = outcome.round;
    turn.reduced = std::as_const(*outcome.values).span();
    turn.reports = reports_of(outcome.reports);
    WEFT_TRY(apply(turn));
  } else if (outcome.status.code() != Code::kAborted) {
    return outcome.status;
  }
  core_->request_turn();
  return {};
}

Status SwarmMember::apply(const Turn& turn) {
  WEFT_TRY_ASSIGN(const StepReport report, trainer_.apply(state_, turn));
  done_ = turn.round;
  core_->applied(turn.round, state_.shared->hash);
  watch_.on_round(*this, turn, report);
  return {};
}

}  // namespace weft::sim
