// A recipe for a user's data: a model that suits their kind and number, a suitable number of steps,
// and a line of explanation above each choice.
//
// Where it stands: `weft new` examines the data (data/look/look.h) -> here -> a file .toml, which
// is tried before it is written. Threads: pure; try_recipe() trains on the calling thread. Fails:
// kInvalidArgument if the data cannot be used, naming what is missing; try_recipe() also as
// Trainer::make().
#pragma once

#include <string>

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/data/catalog.h"
#include "weft/data/look/look.h"
#include "weft/train/recipe.h"

namespace weft {

struct NewRecipe {
  Recipe recipe;
  std::string text;  // TOML with comments; parse_recipe() gives `recipe`
};
// `target`: the column of a table to learn; empty: the last one.
Result<NewRecipe> new_recipe(const DataLook& look, const std::string& target);

struct RecipeTrial {
  int steps = 0;
  double first_loss = 0;
  double last_loss = 0;
  double seconds_a_step = 0;  // of those behind the first, which prepares much
};
// Opens both splits and takes `steps` steps, in memory only. Fails also where a loss is no number.
Result<RecipeTrial> try_recipe(const Recipe& recipe, const DataPlaces& places, const Clock& clock,
                               int steps);

}  // namespace weft
