// CheckpointModel: a model as a checkpoint left it, ready to compute, and the recipe that made it.
//
// Where it stands: `weft predict`, `export` and `serve` open one. The file describes itself
// (io/model_file.h). One that an older release wrote does not: its recipe names the dataset, which
// says sizes, classes, the tokenizer and how inputs become numbers, so that it must be found on
// this machine.
// Threads: the thread that opened it. Fails: as load_model() and open_recipe_dataset() do.
#pragma once

#include <memory>
#include <string>

#include "weft/data/catalog.h"
#include "weft/data/dataset.h"
#include "weft/io/model_file.h"
#include "weft/train/recipe.h"

namespace weft {

struct CheckpointModel : LoadedModel {
  Recipe recipe;
};

// `path` may be a run's folder (find_checkpoint() in io/checkpoint.h).
Result<CheckpointModel> open_checkpoint_model(const std::string& path, const DataPlaces& places);
// What the file says of its model or, if it was written by an older release, its recipe's data.
Result<ModelCard> checkpoint_card(const CheckpointFile& file, const Recipe& recipe,
                                  const DataPlaces& places);

}  // namespace weft
