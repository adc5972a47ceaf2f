#include "weft/train/checkpoint_model.h"

#include "weft/io/checkpoint.h"
#include "weft/train/wiring.h"

namespace weft {

Shape CheckpointModel::sample_shape() const {
  if (input == ModelInput::kTokens) return {options.context};
  if (data.kind == DatasetKind::kRows) return {options.channels};
  return {options.channels, options.height, options.width};
}

Result<CheckpointModel> open_checkpoint_model(const std::string& path, const DataPlaces& places) {
  WEFT_TRY_ASSIGN(const Bytes bytes, read_checkpoint(path));
  const Result<CheckpointInfo> info = read_state_info(bytes);
  if (!info.ok()) return info.status().with_context(path);
  CheckpointModel opened;
  opened.step = info->step;
  WEFT_TRY_ASSIGN(opened.recipe, parse_recipe(info->recipe, path));
  WEFT_TRY_ASSIGN(opened.data, open_recipe_dataset(opened.recipe, Split::kTrain, places));
  WEFT_TRY_ASSIGN(opened.options, model_options(opened.recipe, opened.data));
  WEFT_TRY_ASSIGN(opened.model, make_model(opened.recipe.model.name, opened.options));
  opened.input = find_model(opened.recipe.model.name)->input;
  opened.arena = std::make_unique<ParameterArena>(opened.model->layout());
  opened.model->bind(*opened.arena);
  const Result<CheckpointInfo> loaded = load_state(bytes, *opened.arena, LoadState::kParameters);
  if (!loaded.ok()) return loaded.status().with_context(path);
  opened.model->train(false);
  return opened;
}

}  // namespace weft
