#include "weft/train/wiring.h"

#include <algorithm>

#include "weft/train/round_vector.h"

namespace weft {

ModelOptions model_options(const Recipe& recipe) {
  ModelOptions options;
  options.seed = static_cast<std::uint64_t>(recipe.run.seed);
  options.dropout = recipe.model.dropout;
  options.hidden_units = recipe.model.hidden_units;
  return options;
}

OptimizerOptions optimizer_options(const Recipe& recipe) {
  OptimizerOptions options;
  options.name = recipe.optimizer.name;
  options.learning_rate = recipe.optimizer.learning_rate;
  options.weight_decay = recipe.optimizer.weight_decay;
  options.momentum = recipe.optimizer.momentum;
  options.nesterov = recipe.optimizer.nesterov;
  options.beta1 = recipe.optimizer.beta1;
  options.beta2 = recipe.optimizer.beta2;
  options.epsilon = recipe.optimizer.epsilon;
  return options;
}

ScheduleOptions schedule_options(const Recipe& recipe) {
  ScheduleOptions options;
  options.name = recipe.schedule.name;
  options.total_steps = recipe.run.steps;
  options.warmup_steps = std::min(recipe.schedule.warmup_steps, recipe.run.steps / 2);
  options.final_fraction = recipe.schedule.final_fraction;
  options.drop_every_steps = recipe.schedule.drop_every_steps;
  options.drop_factor = recipe.schedule.drop_factor;
  return options;
}

Result<Dataset> open_recipe_dataset(const Recipe& recipe, Split split, const DataPlaces& places) {
  const bool train = split == Split::kTrain;
  if (recipe.data.name == "synthetic") {
    SyntheticOptions options;
    options.seed = static_cast<std::uint64_t>(recipe.run.seed);
    options.size = train ? recipe.data.synthetic_samples
                         : std::max<std::int64_t>(1, recipe.data.synthetic_samples / 4);
    return make_synthetic_dataset(options, split);
  }
  WEFT_TRY_ASSIGN(Dataset dataset, open_dataset(recipe.data.name, split, places));
  const std::int64_t most = train ? recipe.data.train_samples_max : recipe.data.test_samples_max;
  if (most > 0 && most < dataset.size) dataset.keep_first(most);
  return dataset;
}

Round last_round(const Recipe& recipe) {
  return Round(static_cast<std::uint64_t>(recipe.run.steps) + (recipe.run.evaluate ? 1U : 0U));
}

SwarmOptions swarm_options(const Recipe& recipe, const Layout& layout,
                           const PeerSettings& settings) {
  const Recipe::Group& group = recipe.group;
  SwarmOptions options;
  options.identity = settings.identity;
  options.listen = settings.listen;
  options.recipe_text = canonical_text(recipe);
  options.vector_elements_max = layout.num_elements() + kMetricsElements;
  options.segment_bytes = static_cast<std::size_t>(group.segment_bytes);
  options.bucket_bytes = static_cast<std::size_t>(group.bucket_bytes);
  options.result_log_bytes_max = static_cast<std::uint64_t>(group.result_log_bytes);
  options.last_round = last_round(recipe);
  options.start_members = static_cast<int>(group.start_members);
  options.start_timeout = from_seconds(group.start_timeout_s);
  options.exit_on_quorum_lost = group.on_quorum_lost == "exit";
  MembershipOptions& membership = options.membership;
  membership.self = settings.identity.id();
  membership.incarnation = settings.incarnation;
  membership.layout_hash = layout.hash();
  membership.recipe_hash = recipe_hash(recipe);
  membership.recipe_text = options.recipe_text;
  membership.heartbeat_interval = from_milliseconds(group.heartbeat_interval_ms);
  membership.suspicion_timeout = from_milliseconds(group.suspicion_timeout_ms);
  membership.quorum_timeout = from_seconds(group.quorum_timeout_s);
  membership.joins_at_once = static_cast<int>(group.joins_at_once);
  membership.lone_survivor = group.lone_survivor;
  return options;
}

}  // namespace weft
