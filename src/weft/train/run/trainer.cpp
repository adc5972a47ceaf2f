#include "weft/train/run/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "weft/base/exception_status.h"
#include "weft/codec/codec.h"
#include "weft/swarm/running_statistics.h"
#include "weft/swarm/state_hash.h"
#include "weft/train/data/data_mark.h"
#include "weft/train/recipe/recipe_data.h"
#include "weft/train/run/wiring.h"
#include "weft/train/step/round_vector.h"
#include "weft/train/update/precision.h"

namespace weft {
namespace {

// The learning column throws where a model does not fit its data; here that becomes a Status.
template <class Body>
auto guarded(const char* what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& fault) {
    return exception_status(what, fault);
  }
}

Status check_sums(std::size_t expected, std::size_t got) {
  if (expected == got) return {};
  return internal_error(fmt::format("round: expected {} sums, got {}", expected, got));
}

// Frozen parameters take no gradient: their part of the backward pass is saved.
void freeze(const std::vector<ParameterGroup>& groups, Module& model) {
  const Layout layout = model.layout();
  for (const LayoutEntry& entry : layout.entries()) {
    const auto group =
        std::find_if(groups.begin(), groups.end(),
                     [&](const ParameterGroup& candidate) { return belongs_to(candidate, entry); });
    if (group != groups.end() && group->frozen) model.set_requires_grad(false, entry.name);
  }
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, DataPlaces places, const Clock& clock,
                 std::unique_ptr<Module> model)
    : recipe_(recipe),
      places_(std::move(places)),
      clock_(clock),
      model_(std::move(model)),
      arena_(model_->layout()) {
  model_->bind(arena_);
  model_->train(true);
}

Result<std::unique_ptr<Trainer>> Trainer::make(const Recipe& recipe, const DataPlaces& places,
                                               const Clock& clock, const Review& review) {
  WEFT_TRY(check_recipe(recipe));
  WEFT_TRY_ASSIGN(Dataset data, open_recipe_dataset(recipe, Split::kTrain, places));
  WEFT_TRY_ASSIGN(const ModelOptions options, model_options(recipe, data));
  const DataDescription& description = data;
  const ModelCard card = {recipe.model.name, options, description};
  const TrainerPlan plan = {.elements = 0, .train_samples = data.size};
  WEFT_TRY_ASSIGN(auto trainer, assemble(recipe, card, places, clock, plan, review));
  WEFT_TRY(trainer->open_training_data(std::move(data)));
  // Data of one's own may be too few or damaged, which is to be known before the first step.
  if (reads_own_data(recipe)) WEFT_TRY(trainer->prepare_evaluation());
  return trainer;
}

Result<std::unique_ptr<Trainer>> Trainer::make_to_evaluate(const Recipe& recipe,
                                                           const ModelCard& card,
                                                           const DataPlaces& places,
                                                           const Clock& clock) {
  WEFT_TRY(check_recipe(recipe));
  return assemble(recipe, card, places, clock, {}, {});
}

Result<std::unique_ptr<Trainer>> Trainer::assemble(const Recipe& recipe, const ModelCard& card,
                                                   const DataPlaces& places, const Clock& clock,
                                                   const TrainerPlan& plan, const Review& review) {
  WEFT_TRY_ASSIGN(ScheduleOptions schedule, schedule_options(recipe));
  WEFT_TRY_ASSIGN(const OptimizerOptions optimizer, optimizer_options(recipe));
  WEFT_TRY_ASSIGN(auto model, make_model(card.architecture, card.options));
  if (review) WEFT_TRY(review({model->layout().num_elements(), plan.train_samples}));
  std::unique_ptr<Trainer> trainer(new Trainer(recipe, places, clock, std::move(model)));
  trainer->described_ = card.data;
  trainer->card_ = card_texts(card);
  trainer->schedule_ = std::move(schedule);
  trainer->learning_rate_ = optimizer.learning_rate;
  WEFT_TRY_ASSIGN(trainer->optimizer_, make_optimizer(optimizer, trainer->arena_));
  if (recipe.run.precision == "f16") {
    trainer->loss_scale_.emplace(trainer->arena_, recipe.run.loss_scale);
  }
  if (const auto part = part_options(recipe)) trainer->part_.emplace(*part);
  trainer->step_ = make_round_step(recipe, trainer->arena_);
  WEFT_TRY(trainer->check_wire());
  freeze(optimizer.groups, *trainer->model_);
  if (recipe.run.capture) {
    trainer->captured_ = std::make_unique<CapturedStep>(trainer->model_.get());
  }
  trainer->evaluation_options_.normalization = {card.data.mean, card.data.deviation};
  WEFT_TRY_ASSIGN(const Transforms transforms, recipe_transforms(recipe));
  if (!transforms.empty()) {
    trainer->evaluation_options_.transforms =
        std::make_shared<const Transforms>(transforms.without_random());
  }
  return trainer;
}

Status Trainer::check_wire() {
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(recipe_.group.wire));
  if (codec.hop_precision() || RunningStatistics(arena_).entries().empty()) return {};
  return invalid_argument(
      fmt::format("group.wire: expected f32, bf16, f16 or int8 for {}, whose running statistics "
                  "travel with the gradients and cannot be left out, got {}",
                  recipe_.model.name, codec.text()));
}

Status Trainer::open_training_data(Dataset data) {
  train_samples_ = data.size;
  if (!recipe_.data.is_private) data_mark_ = data_mark(data);
  WEFT_TRY(check_batch(recipe_, data));
  WEFT_TRY_ASSIGN(const BatchLoaderOptions options, loader_options(recipe_, data));
  WEFT_TRY_ASSIGN(loader_,
                  BatchLoader::make(std::make_shared<const Dataset>(std::move(data)), options));
  return {};
}

std::optional<double> Trainer::characters_per_token() const {
  if (described_.kind != DatasetKind::kTokens) return std::nullopt;
  return described_.characters_per_token;
}

std::optional<double> Trainer::bits_per_character(double loss) const {
  if (!characters_per_token().has_value()) return std::nullopt;
  return loss / std::log(2.0) / *characters_per_token();
}

StepParts Trainer::parts() {
  return {*model_,
          arena_,
          *optimizer_,
          *loader_,
          schedule_,
          learning_rate_,
          static_cast<std::uint64_t>(recipe_.run.seed),
          clock_,
          recipe_.run.label_smoothing,
          recipe_.run.micro_batch,
          recipe_.optimizer.clip_norm,
          recipe_.optimizer.clip_value,
          precision_dtype(recipe_.run.precision),
          loss_scale_ ? &*loss_scale_ : nullptr,
          captured_.get(),
          part_ ? &*part_ : nullptr,
          nullptr,
          aggregates(recipe_)};
}

ShardRange Trainer::shard(const Turn& turn) const {
  return shard_for(part_ ? &*part_ : nullptr, turn, loader_->batch_size());
}

bool Trainer::is_evaluation(Round round) const { return round > training_rounds(); }

std::int64_t Trainer::steps_before(Round round) const {
  return steps_of_round(round, recipe_.local.steps, recipe_.run.steps).begin;
}

bool Trainer::measures(Round round) const {
  return !is_evaluation(round) && is_measured(recipe_, steps_before(round));
}

void Trainer::hear_validation(std::int64_t step, StepReport& report) {
  if (recipe_.run.evaluate_every_steps == 0) return;
  report.measured_step = step;
  report.best = validation_.hear(step, report.metrics.validation.loss);
}

Result<StepReport> Trainer::run_round(const Turn& turn, RoundExchange& exchange) {
  if (is_evaluation(turn.round)) return evaluate(turn, exchange);
  WEFT_TRY_ASSIGN(StepReport report, train(turn, exchange));
  if (measures(turn.round)) hear_validation(steps_before(turn.round), report);
  return report;
}

Result<StepReport> Trainer::train(const Turn& turn, RoundExchange& exchange) {
  StepParts work = parts();
  ValidationSums own;
  if (measures(turn.round)) {
    WEFT_TRY_ASSIGN(own, measure_share(turn));
    work.validation = &own;
  }
  const std::int64_t steps = steps_done();
  Result<StepReport> report = guarded("step", [&] { return step_->run(work, turn, exchange); });
  // What failed in the midst of the update is no state to keep.
  if (!report.ok() && steps_done() != steps) return internal_error(report.status().message());
  return report;
}

Result<ValidationSums> Trainer::measure_share(const Turn& turn) {
  WEFT_TRY(prepare_evaluation());
  WEFT_TRY_ASSIGN(const RoundReport own,
                  measure(shard_for(part_ ? &*part_ : nullptr, turn, test_->size), {progress_}));
  return ValidationSums{own.loss, own.correct, own.samples, own.labels};
}

Result<StepReport> Trainer::apply_round(const Turn& turn) {
  if (is_evaluation(turn.round)) {
    WEFT_TRY(check_sums(kEvaluationElements, turn.reduced.size()));
    StepReport report;
    report.metrics = fold_reports(turn.reports);
    hear_final(report);
    return report;
  }
  WEFT_TRY(check_sums(static_cast<std::size_t>(layout().num_elements()), turn.reduced.size()));
  const RoundResult result = {turn.reduced, turn.reports};
  WEFT_TRY_ASSIGN(StepReport report, step_->apply(parts(), turn, result));
  if (measures(turn.round)) hear_validation(steps_before(turn.round), report);
  return report;
}

// The evaluation at the end measures the state as it stays.
void Trainer::hear_final(StepReport& report) {
  const RoundMetrics& sums = report.metrics;
  report.metrics.validation = {sums.loss, sums.correct, sums.samples, sums.labels};
  hear_validation(steps_done(), report);
}

Status Trainer::open_test_data() {
  if (test_.has_value()) return {};
  WEFT_TRY_ASSIGN(test_, open_described_dataset(recipe_, Split::kTest, places_, described_));
  return {};
}

Status Trainer::prepare_evaluation() {
  const bool wanted = recipe_.run.evaluate || recipe_.run.evaluate_every_steps > 0;
  return wanted ? open_test_data() : Status();
}

Result<RoundReport> Trainer::measure(ShardRange shard, const EvaluationWatch& watch) {
  return guarded("evaluation", [&]() -> Result<RoundReport> {
    return evaluate_shard(*model_, *test_, shard, evaluation_options_, watch);
  });
}

Result<RoundReport> Trainer::evaluate_alone(const EvaluationWatch& watch) {
  WEFT_TRY(open_test_data());
  return measure({0, test_->size}, watch);
}

Result<StepReport> Trainer::evaluate(const Turn& turn, RoundExchange& exchange) {
  WEFT_TRY(prepare_evaluation());
  const TimePoint begun = clock_.now();
  WEFT_TRY(exchange.begin(kEvaluationElements));
  const ShardRange shard = shard_for(part_ ? &*part_ : nullptr, turn, test_->size);
  WEFT_TRY_ASSIGN(RoundReport own, measure(shard, {progress_}));
  const TimePoint computed = clock_.now();
  own.compute_seconds = to_seconds(computed - begun);
  const std::array<float, kEvaluationElements> nothing{};
  exchange.contribute(0, nothing);
  WEFT_TRY(exchange.report(own.encode()));
  WEFT_TRY_ASSIGN(const RoundResult result, exchange.finish());
  StepReport report;
  report.metrics = fold_reports(result.reports);
  hear_final(report);
  report.compute_seconds = to_seconds(computed - begun);
  report.exchange_seconds = to_seconds(clock_.now() - computed);
  return report;
}

Bytes Trainer::encode(const std::string& run_id) const {
  CheckpointInfo info = checkpoint_info(run_id);
  info.card = {};  // it has the names of this machine's files
  info.data_mark = data_mark_;
  return serialise_state(arena_, info, shared_states());
}

bool Trainer::rests_in_rounds() const {
  const std::vector<LayoutEntry>& entries = layout().entries();
  return step_->rests() && std::ranges::none_of(entries, [](const LayoutEntry& entry) {
           return entry.kind == ParameterKind::kBuffer;
         });
}

std::vector<std::string> Trainer::shared_states() const { return step_->shared_states(); }

CheckpointInfo Trainer::checkpoint_info(const std::string& run_id) const {
  return {run_id,
          steps_done(),
          canonical_text(recipe_),
          optimizer_->name(),
          optimizer_->steps(),
          part_ ? part_->encode() : std::string(),
          validation_.encode(),
          card_};
}

Result<CheckpointInfo> Trainer::check_optimizer(ByteSpan state) const {
  WEFT_TRY_ASSIGN(CheckpointInfo info, read_state_info(state));
  if (info.optimizer == optimizer_->name()) return info;
  return invalid_argument(
      fmt::format("state: expected optimizer {}, got {}", optimizer_->name(), info.optimizer));
}

Status Trainer::decode(ByteSpan state) {
  WEFT_TRY_ASSIGN(const CheckpointInfo info, check_optimizer(state));
  Validation seen;
  WEFT_TRY(seen.adopt(info.validation));
  WEFT_TRY(load_state(state, arena_));
  if (part_) WEFT_TRY(part_->adopt(info.shares));
  validation_ = seen;
  optimizer_->set_steps(info.optimizer_steps);
  return {};
}

Status Trainer::adopt(ByteSpan state) {
  WEFT_TRY_ASSIGN(const CheckpointInfo info, check_optimizer(state));
  if (!data_mark_.empty()) WEFT_TRY(check_data_mark(data_mark_, info.data_mark));
  Validation seen;
  WEFT_TRY(seen.adopt(info.validation));
  WEFT_TRY(load_state(state, arena_, shared_states()));
  if (part_) WEFT_TRY(part_->adopt(info.shares));
  validation_ = seen;
  optimizer_->set_steps(info.optimizer_steps);
  step_->adopted();
  return {};
}

Status Trainer::merge(ByteSpan state, double weight) {
  WEFT_TRY(check_optimizer(state).status());
  ParameterArena other(layout());
  WEFT_TRY(load_state(state, other, LoadState::kParameters).status());
  const std::span<const float> theirs = std::as_const(other).parameters();
  if (!std::all_of(theirs.begin(), theirs.end(),
                   [](float value) { return std::isfinite(value); })) {
    return corrupt("state: a parameter is no finite number");
  }
  // Where both are equal nothing moves, not even a bit.
  const std::span<float> own = arena_.parameters();
  const auto part = static_cast<float>(weight);
  for (std::size_t i = 0; i < own.size(); ++i) own[i] += part * (theirs[i] - own[i]);
  // Gradients that are kept for later were computed with other parameters.
  if (part_) WEFT_TRY(part_->adopt(part_->encode()));
  step_->restarted();
  return {};
}

StateHash Trainer::hash() const {
  StateHash hash = hash_state(arena_, *optimizer_, shared_states());
  if (part_) {
    const std::string shares = part_->encode();
    hash.tensors.push_back({"shares", xxh3_128(as_bytes(std::string_view(shares)))});
    Bytes all(hash.total.begin(), hash.total.end());
    all.insert(all.end(), hash.tensors.back().hash.begin(), hash.tensors.back().hash.end());
    hash.total = xxh3_128(all);
  }
  return hash;
}
std::string Trainer::digest() const { return state_digest(arena_, *optimizer_, shared_states()); }

}  // namespace weft
