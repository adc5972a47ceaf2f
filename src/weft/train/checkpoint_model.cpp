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
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(path));
  CheckpointModel opened;
  opened.step = file.info.step;
  WEFT_TRY_ASSIGN(opened.recipe, parse_recipe(file.info.recipe, path));
  WEFT_TRY_ASSIGN(opened.data, open_recipe_dataset(opened.recipe, Split::kTrain, places));
  WEFT_TRY_ASSIGN(opened.options, model_options(opened.recipe, opened.data));
  WEFT_TRY_ASSIGN(opened.model, make_model(opened.recipe.model.name, opened.options));
  opened.input = find_model(opened.recipe.model.name)->input;
  opened.arena = std::make_unique<ParameterArena>(opened.model->layout());
  opened.model->bind(*opened.arena);
  const Status loaded = load_state(file.bytes, *opened.arena, LoadState::kParameters).status();
  if (!loaded.ok()) return damaged_checkpoint(path, loaded);
  opened.model->train(false);
  return opened;
}

}  // namespace weft
