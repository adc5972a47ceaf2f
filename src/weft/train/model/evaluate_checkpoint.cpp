#include "weft/train/model/evaluate_checkpoint.h"

#include <fmt/format.h>

#include "weft/train/model/checkpoint_model.h"
#include "weft/train/run/trainer.h"

namespace weft {
namespace {

Result<std::unique_ptr<Trainer>> open_to_evaluate(const std::string& given,
                                                  const DataPlaces& places, const Clock& clock) {
  WEFT_TRY_ASSIGN(const std::string path, find_checkpoint(given));
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(path));
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(file.info.recipe, path));
  const Result<ModelCard> card = checkpoint_card(file, recipe, places);
  if (!card.ok()) return damaged_checkpoint(path, card.status());
  WEFT_TRY_ASSIGN(auto trainer, Trainer::make_to_evaluate(recipe, *card, places, clock));
  WEFT_TRY(damaged_checkpoint(path, trainer->decode(file.bytes)));
  WEFT_TRY(damaged_checkpoint(path, check_parameters(trainer->model())));
  return trainer;
}

}  // namespace

Result<CheckpointEvaluation> evaluate_checkpoint(const std::string& path, const DataPlaces& places,
                                                 const Clock& clock,
                                                 const EvaluationProgress& progress,
                                                 std::string_view weights) {
  WEFT_TRY_ASSIGN(const WeightPrecision precision, parse_weight_precision(weights));
  WEFT_TRY_ASSIGN(const auto trainer, open_to_evaluate(path, places, clock));
  PreparedWeights prepared = prepared_weights_of(trainer->model(), precision);
  const PreparedWeights::Use use(&prepared);
  CheckpointEvaluation found;
  const Result<RoundReport> metrics = trainer->evaluate_alone({progress, &found.confusion});
  if (!metrics.ok() && metrics.status().code() == Code::kUnavailable) {
    return unavailable(
        fmt::format("{}; eval measures on the test data of the run's recipe ({}): say where they "
                    "are with --data",
                    metrics.status().message(), trainer->recipe().data.name));
  }
  if (!metrics.ok()) return metrics.status();
  found.step = trainer->steps_done();
  const ComputedSums& sums = *metrics;
  found.metrics = sums;
  found.bits_per_character = trainer->bits_per_character(metrics->loss);
  found.digest = trainer->digest();
  found.class_names = trainer->data().class_names;
  return found;
}

}  // namespace weft
