// Whether a recipe trains: a few steps of it, by a group of one that nobody can join.
//
// Where it stands: `weft new` -> here, before it writes a recipe. Threads: trains on the calling
// thread. Fails: as Trainer::make(), and kInvalidArgument where a loss is no number.
#pragma once

#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/data/catalog.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct RecipeTrial {
  int steps = 0;
  double first_loss = 0;
  double last_loss = 0;
  double seconds_a_step = 0;  // of those behind the first, which prepares much
};
// Opens both splits and takes `steps` steps, in memory only.
Result<RecipeTrial> try_recipe(const Recipe& recipe, const DataPlaces& places, const Clock& clock,
                               int steps);

}  // namespace weft
