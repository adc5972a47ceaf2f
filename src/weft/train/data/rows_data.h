// The tables that a recipe of data.name "rows" names, as a model takes them (data/rows.h).
//
// Threads: any. Fails: as table_options(), open_path() and read_described_csv() do.
#pragma once

#include <string>

#include "weft/base/status.h"
#include "weft/data/dataset.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// Means and deviations are those of the training split, for both. Columns with missing values are
// logged, of the training split.
Result<Dataset> open_rows(const Recipe& recipe, Split split, const std::string& path);
// By the description of a model instead, for evaluation.
Result<Dataset> open_described_rows(const Recipe& recipe, Split split, const std::string& path,
                                    const DataDescription& data);
// How releases before descriptions encoded a table: words are their numbers, target values are
// unscaled. For the checkpoints of those releases.
Result<DataDescription> old_rows_description(const Recipe& recipe, const std::string& path);

}  // namespace weft
