#include "weft/collective/parts/open_round.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "weft/collective/parts/swarm_fingerprint.h"
#include "weft/collective/parts/swarm_parts.h"

namespace weft {

// --- The training side.

bool OpenRound::begin(const ViewId& view, Round round, const RoundPlan& plan) {
  if (Status possible = plan.check(core_.options.vector_elements_max); !possible.ok()) {
    state_.outcome = failed_outcome(round, std::move(possible));
    return false;
  }
  const CollectiveId id{view, round};
  if (state_.early && state_.early->first == id) {
    state_.outcome = std::move(state_.early->second);
    state_.early.reset();
  } else if (core_.rounds.open() && state_.opened == id) {
    state_.awaited = true;
  } else if (core_.rounds.open()) {
    state_.outcome = failed_outcome(
        round, aborted(fmt::format("round {}: the view has changed", round.value())));
  } else {
    core_.rounds.begin(id, plan, core_.now());
    state_.takes_input = core_.rounds.open();
    state_.has_input = false;
  }
  return true;
}

void OpenRound::contribute(std::size_t exchange, std::int64_t offset,
                           std::span<const float> values) {
  // What comes now was computed: the next rounds may count on the training side again.
  core_.late.on_trainer();
  if (!state_.takes_input) return;
  state_.has_input = true;
  core_.rounds.contribute(exchange, offset, values, core_.now());
}

void OpenRound::report(Bytes report) {
  if (!state_.takes_input) return;
  state_.has_input = true;
  core_.rounds.report(std::move(report), core_.now());
}

std::optional<std::span<const float>> OpenRound::early_sums(std::size_t exchange) const {
  return state_.takes_input ? core_.rounds.early_sums(exchange) : std::nullopt;
}

// --- Its input's stand-in.

bool OpenRound::waits_for_input(std::int64_t elements) const {
  return state_.takes_input && !state_.has_input && core_.rounds.plan() == RoundPlan(elements);
}

bool OpenRound::take_over(const CollectiveId& id, std::int64_t elements) {
  if (!core_.rounds.open()) {
    state_.opened = id;
    state_.awaited = false;
    core_.rounds.begin(id, elements, core_.now());
    if (!core_.rounds.open()) return false;
  }
  state_.takes_input = false;
  return true;
}

// --- Outcomes.

void OpenRound::settle() {
  std::optional<RoundOutcome> outcome = core_.rounds.take_outcome();
  if (!outcome) return;
  state_.takes_input = false;
  const std::optional<CollectiveId> opened = std::exchange(state_.opened, std::nullopt);
  const bool is_committed = outcome->status.ok();
  core_.trainer.lend(false);
  if (is_committed) {
    core_.links.count_round(*outcome);
    core_.waits.measure_round(*outcome);
    keep_result(log_entry(*outcome));
  } else if (outcome->status.code() == Code::kAborted) {
    core_.news.on_aborted(*outcome);
  }
  if (!opened || state_.awaited) {
    state_.awaited = false;
    state_.outcome = std::move(outcome);
  } else if (core_.trainer.training() == opened) {
    state_.early = {*opened, *std::move(outcome)};
  }
  // Between two rounds, so that none has to be run again.
  if (is_committed) core_.membership.admit(core_.now());
}

void OpenRound::keep_result(ResultLog::Entry result) {
  ResultLog& log = core_.log;
  const Round round = result.round;
  if (!log.empty() && round <= log.newest()) return;
  if (!log.empty() && round != log.newest().next()) log.clear();
  // Joiners catch up from the results after their snapshot, a training side that was late from
  // those after its own.
  const Round joiners = core_.giving.first_needed(round);
  const TrainerSide& trainer = core_.trainer;
  log.need_from(std::min(joiners, trainer.has_state() ? trainer.round().next() : round));
  log.add(std::move(result));
  core_.server.committed(core_.now());
}

void OpenRound::fingerprint(Fingerprint& out) const { out.add(state_); }

}  // namespace weft
