// CheckpointModel: the model of a checkpoint, ready to compute, and its recipe.
//
// Where it stands: `weft predict`, `export` and `serve` open one. The file describes itself
// (io/model_file.h). A file of an older release does not: its recipe names the dataset, which
// defines sizes, classes, the tokenizer and the encoding of inputs, so the dataset must be on this
// machine.
// Threads: the thread that opened it. Fails: as load_model() and open_recipe_dataset() do.
#pragma once

#include <memory>
#include <string>

#include "weft/base/status.h"
#include "weft/data/catalog.h"
#include "weft/data/dataset.h"
#include "weft/io/model_file.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct CheckpointModel : LoadedModel {
  Recipe recipe;
};

// `path` may be a run's folder (find_checkpoint() in io/checkpoint.h).
Result<CheckpointModel> open_checkpoint_model(const std::string& path, const DataPlaces& places);
// The file's description of its model or, for a file of an older release, that of its recipe's
// data.
Result<ModelCard> checkpoint_card(const CheckpointFile& file, const Recipe& recipe,
                                  const DataPlaces& places);

}  // namespace weft
