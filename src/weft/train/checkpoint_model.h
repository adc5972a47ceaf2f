// CheckpointModel: a model as a checkpoint left it, ready to compute.
//
// Where it stands: `weft predict` and `weft export` open one. The checkpoint names the recipe, the
// recipe the dataset, and that says sizes, classes, the tokenizer and how pixels become numbers; so
// the dataset must be found on this machine, as for `weft eval`.
// Threads: the thread that opened it. Fails: as read_checkpoint() and open_recipe_dataset() do.
#pragma once

#include <memory>
#include <string>

#include "weft/array/parameter_arena.h"
#include "weft/data/batch.h"
#include "weft/data/catalog.h"
#include "weft/data/dataset.h"
#include "weft/nn/zoo.h"
#include "weft/train/recipe.h"

namespace weft {

struct CheckpointModel {
  Recipe recipe;
  std::int64_t step = 0;
  Dataset data;  // the training split
  ModelOptions options;
  ModelInput input = ModelInput::kImages;
  std::unique_ptr<ParameterArena> arena;
  std::unique_ptr<Module> model;  // in evaluation mode

  // Pixels as the model takes them.
  Normalization normalization() const { return {data.mean, data.deviation}; }
  // The shape of one sample: [C, H, W], [features] or [T].
  Shape sample_shape() const;
};

Result<CheckpointModel> open_checkpoint_model(const std::string& path, const DataPlaces& places);

}  // namespace weft
