#include "weft/train/step/local_step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/train/step/member_part.h"

namespace weft {
namespace {

// Puts the shared parameters and the step count back, however the inner steps end.
class InnerSteps {
 public:
  InnerSteps(const StepParts& parts, std::vector<float>& anchor)
      : parts_(parts), anchor_(anchor), steps_(parts.optimizer.steps()) {
    const std::span<const float> parameters = std::as_const(parts.arena).parameters();
    anchor_.assign(parameters.begin(), parameters.end());
  }
  ~InnerSteps() {
    std::copy(anchor_.begin(), anchor_.end(), parts_.arena.parameters().begin());
    parts_.optimizer.set_steps(steps_);
  }
  InnerSteps(const InnerSteps&) = delete;
  InnerSteps& operator=(const InnerSteps&) = delete;

 private:
  const StepParts& parts_;
  std::vector<float>& anchor_;
  const std::int64_t steps_;
};

}  // namespace

StepRange steps_of_round(Round round, std::int64_t steps, std::int64_t total_steps) {
  const auto index = static_cast<std::int64_t>(round.value()) - 1;
  return {std::min(index * steps, total_steps), std::min((index + 1) * steps, total_steps)};
}

Round round_after(std::int64_t steps_done, std::int64_t steps) {
  return Round(static_cast<std::uint64_t>((steps_done + steps - 1) / steps));
}

LocalSteps::LocalSteps(ParameterArena& arena, const LocalOptions& options)
    : arena_(arena), options_(options), outer_(arena, options.outer) {}

double LocalSteps::planned_samples(const StepParts& parts, Round round) const {
  return static_cast<double>(steps_of(round).size()) *
         static_cast<double>(parts.loader.batch_size());
}

void LocalSteps::adopted() {
  phases_.clear();
  in_step_ = false;
}

void LocalSteps::restarted() {
  phases_.clear();
  in_step_ = true;
}

LocalSteps::Phase LocalSteps::empty_phase() {
  Phase phase;
  if (!free_.empty()) {
    phase.vector = std::move(free_.back());
    free_.pop_back();
  }
  phase.vector.assign(static_cast<std::size_t>(arena_.layout().num_elements()), 0.0F);
  return phase;
}

Status LocalSteps::take_steps(const StepParts& parts, const Turn& turn, StepRange range,
                              RoundReport& own) {
  const ShardRange shard = shard_for(parts.part, turn, parts.loader.batch_size());
  if (shard.size() == 0) return {};
  for (std::int64_t step = range.begin; step < range.end; ++step) {
    WEFT_TRY_ASSIGN(const Batch batch, parts.loader.get(step, shard));
    arena_.zero_gradients();
    const ShardWork work = {parts, static_cast<std::uint64_t>(step), shard,
                            1.0 / static_cast<double>(batch.labels.size())};
    const RoundReport metrics = compute_shard(work, batch, [](ParameterId) {});
    update_parameters(parts, step, std::as_const(arena_).gradients());
    own.loss += metrics.loss * metrics.samples;
    own.correct += metrics.correct;
    own.samples += metrics.samples;
    own.labels += metrics.labels;
  }
  return {};
}

Result<LocalSteps::Phase> LocalSteps::compute(const StepParts& parts, const Turn& turn,
                                              Round round) {
  const TimePoint begun = parts.clock.now();
  Phase phase = empty_phase();
  const InnerSteps inner(parts, anchor_);
  WEFT_TRY(take_steps(parts, turn, steps_of(round), phase.own));
  const double planned = planned_samples(parts, round);
  phase.own.loss /= planned;
  const auto weight = static_cast<float>(phase.own.samples / planned);
  const std::span<const float> moved = std::as_const(arena_).parameters();
  for (std::size_t i = 0; i < moved.size(); ++i) {
    phase.vector[i] = weight * (anchor_[i] - moved[i]);
  }
  phase.own.compute_seconds = to_seconds(parts.clock.now() - begun);
  if (parts.part != nullptr) {
    const auto steps = static_cast<double>(steps_of(round).size());
    phase.own.member = parts.part->computed(phase.own.compute_seconds / steps,
                                            static_cast<std::int64_t>(phase.own.samples / steps));
  }
  return phase;
}

Status LocalSteps::ensure_phase(const StepParts& parts, const Turn& turn, Round round) {
  if (phases_.contains(round)) return {};
  const bool comes_late = options_.overlap && round == turn.round && !in_step_;
  if (comes_late) {
    phases_.emplace(round, empty_phase());
    return {};
  }
  WEFT_TRY_ASSIGN(Phase phase, compute(parts, turn, round));
  phases_.emplace(round, std::move(phase));
  return {};
}

Result<StepReport> LocalSteps::run(const StepParts& parts, const Turn& turn,
                                   RoundExchange& exchange) {
  const TimePoint begun = parts.clock.now();
  const std::int64_t elements = arena_.layout().num_elements();
  const ShardRange shard = shard_for(parts.part, turn, parts.loader.batch_size());
  if (parts.part != nullptr) WEFT_TRY(parts.part->begin(turn, shard, arena_, exchange));
  WEFT_TRY(exchange.begin(elements));
  WEFT_TRY(ensure_phase(parts, turn, turn.round));
  in_step_ = false;
  Phase& phase = phases_.at(turn.round);
  phase.own.validation = parts.validation == nullptr ? ValidationSums() : *parts.validation;
  exchange.contribute(0, phase.vector);
  WEFT_TRY(exchange.report(phase.own.encode()));
  const Round next = turn.round.next();
  if (options_.overlap && steps_of(next).size() > 0) WEFT_TRY(ensure_phase(parts, turn, next));
  const TimePoint computed = parts.clock.now();
  WEFT_TRY_ASSIGN(const RoundResult result, exchange.finish());
  const TimePoint exchanged = parts.clock.now();

  const bool own_finite = std::isfinite(phase.own.loss);
  WEFT_TRY_ASSIGN(StepReport report, apply(parts, turn, result));
  report.own_finite = own_finite;
  report.share = shard.size();
  report.exchange_seconds = to_seconds(exchanged - computed);
  report.compute_seconds = to_seconds(parts.clock.now() - begun) - report.exchange_seconds;
  return report;
}

Result<StepReport> LocalSteps::apply(const StepParts& parts, const Turn& turn,
                                     const RoundResult& result) {
  const StepRange range = steps_of(turn.round);
  StepReport report;
  report.metrics = fold_reports(result.reports);
  if (parts.part != nullptr) parts.part->hear(report.metrics);
  const double weight = report.metrics.samples / planned_samples(parts, turn.round);
  outer_.apply(result.sums, weight);
  // Nobody had computed anything: there is no loss to speak of.
  report.metrics.loss =
      weight > 0 ? report.metrics.loss / weight : std::numeric_limits<double>::quiet_NaN();
  report.learning_rate = parts.learning_rate * schedule_factor(parts.schedule, range.end - 1);
  parts.optimizer.set_steps(range.end);
  while (!phases_.empty() && phases_.begin()->first <= turn.round) {
    free_.push_back(std::move(phases_.begin()->second.vector));
    phases_.erase(phases_.begin());
  }
  return report;
}

}  // namespace weft
