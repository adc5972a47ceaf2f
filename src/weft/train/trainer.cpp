#include "weft/train/trainer.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "weft/train/evaluate.h"
#include "weft/train/train_state.h"
#include "weft/train/wiring.h"

namespace weft {
namespace {

// The learning column throws where a model does not fit its data; here that becomes a Status.
template <class Body>
auto guarded(const char* what, Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& mistake) {
    return internal_error(fmt::format("{}: {}", what, mistake.what()));
  }
}

Status check_sums(std::size_t expected, std::size_t got) {
  if (expected == got) return {};
  return internal_error(fmt::format("round: expected {} sums, got {}", expected, got));
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, DataPlaces places, const Clock& clock,
                 std::unique_ptr<Module> model)
    : recipe_(recipe),
      places_(std::move(places)),
      clock_(clock),
      schedule_(schedule_options(recipe)),
      model_(std::move(model)),
      arena_(model_->layout()) {
  model_->bind(arena_);
  model_->train(true);
}

Result<std::unique_ptr<Trainer>> Trainer::make(const Recipe& recipe, const DataPlaces& places,
                                               const Clock& clock) {
  WEFT_TRY(check_recipe(recipe));
  WEFT_TRY(check_schedule(schedule_options(recipe)));
  WEFT_TRY_ASSIGN(Dataset data, open_recipe_dataset(recipe, Split::kTrain, places));
  WEFT_TRY_ASSIGN(auto model, make_model(recipe.model.name, model_options(recipe)));
  std::unique_ptr<Trainer> trainer(new Trainer(recipe, places, clock, std::move(model)));
  WEFT_TRY_ASSIGN(trainer->optimizer_, make_optimizer(optimizer_options(recipe), trainer->arena_));
  trainer->train_samples_ = data.size;
  trainer->normalization_ = {data.mean, data.deviation};
  BatchLoaderOptions options;
  options.seed = static_cast<std::uint64_t>(recipe.run.seed);
  options.batch_size = recipe.run.global_batch;
  WEFT_TRY_ASSIGN(trainer->loader_,
                  BatchLoader::make(std::make_shared<const Dataset>(std::move(data)), options));
  return trainer;
}

StepParts Trainer::parts() {
  return {*model_,
          arena_,
          *optimizer_,
          *loader_,
          schedule_,
          recipe_.optimizer.learning_rate,
          static_cast<std::uint64_t>(recipe_.run.seed),
          clock_};
}

bool Trainer::is_evaluation(Round round) const {
  return static_cast<std::int64_t>(round.value()) > recipe_.run.steps;
}

Result<StepReport> Trainer::run_round(const Turn& turn, Exchange& exchange) {
  if (is_evaluation(turn.round)) return evaluate(turn, exchange);
  return guarded("step", [&] { return train_step(parts(), turn, exchange); });
}

Result<StepReport> Trainer::apply_round(const Turn& turn) {
  if (is_evaluation(turn.round)) {
    WEFT_TRY(check_sums(kMetricsElements, turn.reduced.size()));
    StepReport report;
    report.metrics = decode_metrics(turn.reduced, turn.members);
    return report;
  }
  WEFT_TRY(check_sums(static_cast<std::size_t>(layout().num_elements() + kMetricsElements),
                      turn.reduced.size()));
  return apply_step(parts(), turn, turn.reduced);
}

Status Trainer::prepare_evaluation() {
  if (!recipe_.run.evaluate || test_.has_value()) return {};
  WEFT_TRY_ASSIGN(test_, open_recipe_dataset(recipe_, Split::kTest, places_));
  return {};
}

Result<RoundMetrics> Trainer::measure(ShardRange shard) {
  return guarded("evaluation", [&]() -> Result<RoundMetrics> {
    return evaluate_shard(*model_, *test_, shard, normalization_);
  });
}

Result<RoundMetrics> Trainer::evaluate_alone() {
  if (!test_.has_value()) {
    WEFT_TRY_ASSIGN(test_, open_recipe_dataset(recipe_, Split::kTest, places_));
  }
  return measure({0, test_->size});
}

Result<StepReport> Trainer::evaluate(const Turn& turn, Exchange& exchange) {
  WEFT_TRY(prepare_evaluation());
  const TimePoint begun = clock_.now();
  WEFT_TRY(exchange.begin(kMetricsElements));
  const ShardRange shard = shard_of(test_->size, turn.rank.value(), turn.members);
  WEFT_TRY_ASSIGN(RoundMetrics own, measure(shard));
  const TimePoint computed = clock_.now();
  own.compute_seconds = {to_seconds(computed - begun)};
  const auto tail = encode_metrics(own, turn.rank.value());
  exchange.contribute(0, tail);
  WEFT_TRY_ASSIGN(const std::span<const float> sums, exchange.finish());
  StepReport report;
  report.metrics = decode_metrics(sums, turn.members);
  report.compute_seconds = to_seconds(computed - begun);
  report.exchange_seconds = to_seconds(clock_.now() - computed);
  return report;
}

Bytes Trainer::encode(const std::string& run_id) const {
  return serialise_state(arena_, checkpoint_info(run_id));
}

CheckpointInfo Trainer::checkpoint_info(const std::string& run_id) const {
  return {run_id, steps_done(), canonical_text(recipe_), optimizer_->name(), optimizer_->steps()};
}

Status Trainer::decode(ByteSpan state) {
  WEFT_TRY_ASSIGN(const CheckpointInfo info, read_state_info(state));
  if (info.optimizer != optimizer_->name()) {
    return invalid_argument(
        fmt::format("state: expected optimizer {}, got {}", optimizer_->name(), info.optimizer));
  }
  WEFT_TRY(load_state(state, arena_));
  optimizer_->set_steps(info.optimizer_steps);
  return {};
}

StateHash Trainer::hash() const { return hash_state(arena_, *optimizer_); }
std::string Trainer::digest() const { return state_digest(arena_, *optimizer_); }

}  // namespace weft
