#include "weft/train/model/checkpoint_model.h"

#include <utility>

#include "weft/io/checkpoint.h"
#include "weft/train/data/data_files.h"
#include "weft/train/data/rows_data.h"
#include "weft/train/run/wiring.h"

namespace weft {
namespace {

// What there is to know of the recipe's data. Images of the catalogue are known without files.
Result<DataDescription> data_facts(const Recipe& recipe, const DataPlaces& places) {
  if (auto known = known_images(recipe.data.name)) {
    known->transforms = recipe.data.transforms;
    return DataDescription(std::move(*known));
  }
  if (recipe.data.name == "rows") {
    WEFT_TRY_ASSIGN(const DataFiles files, find_data_files(recipe, places));
    return old_rows_description(recipe, files.data);
  }
  WEFT_TRY_ASSIGN(Dataset opened, open_recipe_dataset(recipe, Split::kTrain, places));
  return DataDescription(std::move(opened));
}

}  // namespace

Result<ModelCard> checkpoint_card(const CheckpointFile& file, const Recipe& recipe,
                                  const DataPlaces& places) {
  if (!file.info.card.model.empty()) return parse_card(file.info.card);
  ModelCard card;
  card.architecture = recipe.model.name;
  WEFT_TRY_ASSIGN(card.data, data_facts(recipe, places));
  WEFT_TRY_ASSIGN(card.options, model_options(recipe, card.data));
  return card;
}

Result<CheckpointModel> open_checkpoint_model(const std::string& path, const DataPlaces& places) {
  WEFT_TRY_ASSIGN(const std::string found, find_checkpoint(path));
  WEFT_TRY_ASSIGN(const CheckpointFile file, open_checkpoint(found));
  CheckpointModel opened;
  WEFT_TRY_ASSIGN(opened.recipe, parse_recipe(file.info.recipe, found));
  WEFT_TRY(check_recipe(opened.recipe).with_context(found));
  const Result<ModelCard> card = checkpoint_card(file, opened.recipe, places);
  if (!card.ok()) return damaged_checkpoint(found, card.status());
  WEFT_TRY_ASSIGN(static_cast<LoadedModel&>(opened), build_model(*card, file, found));
  return opened;
}

}  // namespace weft
