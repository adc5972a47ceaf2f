// Names of recipe keys in other frameworks: "lr" is optimizer.learning_rate.
//
// Where it stands: recipe.cpp's messages, and those of the command line for flags that `weft run`
// does not have. The right names are only suggested, and the aliases are never accepted: a recipe
// has one name for a thing. Threads: pure functions. Fails: never; returns nothing if no alias
// matches.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weft {

struct RecipeAlias {
  std::string_view name;  // lower case, '_' between words
  std::string_view key;   // of a recipe
  // Further explanation, such as how the one is computed from the other; may be empty.
  std::string_view note;
};

// The alias that matches `typed`, with any section before it and with its words joined in any way:
// "lr", "training.batch-size", "BatchSize".
std::optional<RecipeAlias> recipe_alias(std::string_view typed);

// `did you mean "optimizer.learning_rate"?`, with the note; "" where nothing fits. Takes a key that
// is misspelt, in the wrong section, or an alias.
std::string recipe_key_meant(std::string_view typed);

}  // namespace weft
