// Checks the [data] keys of a recipe together: which of them each kind of data reads, the format of
// a table, and whether there is enough data for the recipe's sizes.
//
// Where it stands: check_recipe() and wiring.cpp -> here. Everything is refused before the first
// step, naming the key, its value and the remedy.
// Threads: pure. Fails: kInvalidArgument; table_options also as sniff_csv_file().
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/csv.h"
#include "weft/data/dataset.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// Whether data.path names the data: text, tokens, rows, images.
bool reads_own_data(const Recipe& recipe);

// Checks that the name is known, that no key is set that this kind of data does not read, and that
// keys agree with each other.
Status check_data_keys(const Recipe& recipe);

// How the table at `path` is to be read: data.separator, data.decimal and data.header, where the
// first two are "auto" as the file shows them; missing values are NaN. A folder of arrays needs
// nothing.
Result<CsvOptions> table_options(const Recipe& recipe, const std::string& path);

// The names in data.columns_ignored. Fails: kInvalidArgument on an empty one, or one quote alone.
Result<std::vector<std::string>> ignored_columns(const Recipe& recipe);
// The value of data.columns_ignored for these names.
std::string ignored_text(const std::vector<std::string>& names);

// Checks that a text or a file of tokens is long enough to be split.
Status check_length(const std::string& path, std::int64_t length, std::string_view unit);

// A text or token set, opened with a context of 1, with the recipe's.
Result<Dataset> with_recipe_context(const Recipe& recipe, Dataset dataset, Split split);

// Checks that a global batch is not larger than the training data.
Status check_batch(const Recipe& recipe, const Dataset& training);

}  // namespace weft
