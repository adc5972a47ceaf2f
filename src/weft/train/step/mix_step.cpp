#include "weft/train/step/mix_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "weft/train/report/round_report.h"
#include "weft/train/step/gossip_step.h"

namespace weft {
namespace {

// `state` is a model, and behind it what is given beside it, if anything is: that is returned.
Result<std::vector<float>> adopt_given(ParameterArena& arena, ByteSpan state) {
  const std::span<float> parameters = arena.parameters();
  const std::size_t model = parameters.size_bytes();
  std::vector<float> beside(state.size() > model ? parameters.size() : 0);
  const std::size_t expected = model + beside.size() * sizeof(float);
  if (state.size() != expected) {
    return internal_error(
        fmt::format("state: expected {} bytes of parameters, got {}", expected, state.size()));
  }
  std::memcpy(parameters.data(), state.data(), model);
  if (!beside.empty()) std::memcpy(beside.data(), state.data() + model, model);
  return beside;
}

}  // namespace

Result<StepReport> MixStep::run(const StepParts& parts, const Turn& turn, RoundExchange& exchange) {
  const TimePoint begun = parts.clock.now();
  ParameterArena& arena = parts.arena;
  WEFT_TRY_ASSIGN(const std::vector<float> beside, adopt_given(arena, turn.state.span()));
  WEFT_TRY_ASSIGN(const MixMethod method, mix_method(recipe_));
  if (learner_ == nullptr) {
    WEFT_TRY_ASSIGN(learner_, MixTrainedLearner::make(recipe_, parts, turn.own.members));
    // By those a member judges others' models.
    if (method.combine.needs_judge()) WEFT_TRY(learner_->hold_out());
  }
  const std::span<const float> parameters = std::as_const(arena).parameters();
  const std::vector<float> given(parameters.begin(), parameters.end());
  const std::int64_t steps_before = parts.optimizer.steps();

  std::vector<float> model = given;
  const MixLocalWork work = {.member = turn.own.member,
                             .first_step = steps_,
                             .steps = turn.own.steps,
                             .version = (turn.round.value() - 1) * method.mixes,
                             .beside = beside};
  const Result<MixLoss> loss = method.local.run(work, *learner_, model);
  const double learning_rate = parts.optimizer.learning_rate();
  // The arena was where the steps were computed.
  learner_->put_in(given);
  parts.optimizer.set_steps(steps_before);
  WEFT_TRY(loss.status());
  steps_ += turn.own.steps;

  WEFT_TRY(exchange.begin(static_cast<std::int64_t>(model.size())));
  exchange.contribute(0, model);
  RoundReport own;
  own.loss = loss->labels > 0 ? loss->loss / loss->labels : 0;
  own.correct = loss->correct;
  own.samples = loss->samples;
  own.labels = loss->labels;
  if (parts.validation != nullptr) own.validation = *parts.validation;
  const TimePoint computed = parts.clock.now();
  own.compute_seconds = to_seconds(computed - begun);
  WEFT_TRY(exchange.report(own.encode()));
  WEFT_TRY_ASSIGN(const RoundResult result, exchange.finish());

  StepReport report;
  report.exchange_seconds = to_seconds(parts.clock.now() - computed);
  report.mixing = result.mixing;
  const bool is_model = model.size() == given.size();
  if (report.mixing && is_model) {
    report.mixing->distance = relative_distance(model, result.sums);
  }
  // A trial of the recipe gives back what was contributed, which may be no model.
  if (result.sums.size() == given.size()) learner_->put_in(result.sums);
  parts.optimizer.set_steps(result.steps);
  report.metrics = fold_reports(result.reports);
  report.own_finite = std::isfinite(own.loss);
  report.learning_rate = learning_rate;
  report.share = learner_->batch_size(turn.own.member);
  report.compute_seconds = to_seconds(parts.clock.now() - begun) - report.exchange_seconds;
  return report;
}

Result<StepReport> MixStep::apply(const StepParts& parts, const Turn& /*turn*/,
                                  const RoundResult& result) {
  std::ranges::copy(result.sums, parts.arena.parameters().begin());
  parts.optimizer.set_steps(recipe_.run.steps);
  StepReport report;
  report.metrics = fold_reports(result.reports);
  report.learning_rate = parts.optimizer.learning_rate();
  return report;
}

}  // namespace weft
