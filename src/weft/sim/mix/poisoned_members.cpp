#include "weft/sim/mix/poisoned_members.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::sim {
namespace {

std::int64_t classes_of(Trainer& trainer) {
  const Dataset* const dataset = trainer.parts().loader.dataset();
  return dataset == nullptr ? 0 : dataset->classes;
}

}  // namespace

Status poison_members(const LiarOptions& liars, std::uint32_t members, Trainer& trainer,
                      MixTrainedLearner& learner) {
  if (!liars.data) return {};
  const DataAttack attack = *liars.data;
  const std::uint32_t first = members - static_cast<std::uint32_t>(liars.count);
  const std::int64_t classes = classes_of(trainer);
  MixSamples samples;
  if (attack.attackers_are_alike()) {
    samples.owner = [first](std::uint32_t member) { return std::min(member, first); };
  }
  samples.edit = [attack, first, classes](std::uint32_t member, Batch& batch) -> Status {
    return member < first ? Status() : attack.poison(batch, classes);
  };
  // Only data that fit have labels to collect.
  WEFT_TRY(learner.change_samples(std::move(samples), first));
  const Dataset& dataset = *trainer.parts().loader.dataset();
  std::vector<std::int64_t> collected;
  for (std::int64_t sample = 0; sample < dataset.size; ++sample) {
    if (attack.collects(dataset.label(sample))) collected.push_back(sample);
  }
  return learner.add_samples(first, collected);
}

std::optional<double> attack_rate(const LiarOptions& liars, Trainer& trainer) {
  if (!liars.data) return std::nullopt;
  std::int64_t attacked = 0;
  bool fits = true;
  EvaluationWatch watch;
  watch.edit = [&](Batch& batch) {
    const Result<std::int64_t> rows = liars.data->aim(batch, classes_of(trainer));
    if (rows.ok()) attacked += *rows;
    if (!rows.ok()) fits = false;
  };
  const Result<RoundReport> measured = trainer.evaluate_alone(watch);
  if (!fits || !measured.ok() || attacked == 0) return std::nullopt;
  return measured->correct / static_cast<double>(attacked);
}

}  // namespace weft::sim
