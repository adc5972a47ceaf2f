// A recipe for a user's data: a model that suits their kind and number, a suitable number of steps,
// and a line of explanation above each choice.
//
// Where it stands: `weft new` examines the data (data/look/look.h) -> here -> a file .toml, which
// is tried before it is written (train/run/try_recipe.h). Threads: pure. Fails: kInvalidArgument if
// the data cannot be used, naming what is missing.
#pragma once

#include <string>

#include "weft/base/status.h"
#include "weft/data/look/look.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct NewRecipe {
  Recipe recipe;
  std::string text;  // TOML with comments; parse_recipe() gives `recipe`
};
// `target`: the column of a table to learn; empty: the last one.
Result<NewRecipe> new_recipe(const DataLook& look, const std::string& target);

}  // namespace weft
