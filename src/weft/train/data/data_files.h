// The files on this machine to which a recipe's data.path and data.tokenizer refer.
//
// The user's own recipe may name any file. A recipe from others cannot choose files: its paths must
// be inside the data folder (WEFT_DATA_DIR, by default ~/.cache/weft), with symbolic links and ".."
// followed before the check; otherwise a run could name any file of a joiner as its training data
// and read it from the gradients. The person's choice (DataPlaces::data and tokenizer) overrides
// both.
// Threads: any. Fails: kInvalidArgument for a path that is not allowed, kUnavailable if the file
// does not exist; both name the path and the remedy.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/catalog.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// Empty: the recipe reads none.
struct DataFiles {
  std::string data;       // data.path: a file or a folder
  std::string tokenizer;  // data.tokenizer
};
Result<DataFiles> find_data_files(const Recipe& recipe, const DataPlaces& places);

// The flags with which `weft join` on this machine uses these files, regardless of their names in
// the recipe.
std::vector<std::string> data_flags(const DataFiles& files);

}  // namespace weft
