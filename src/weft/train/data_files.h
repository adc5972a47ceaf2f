// Which files of this machine a recipe's data.path and data.tokenizer stand for.
//
// A recipe of one's own may name any file. One that came from others chooses none: its paths count
// below the data folder only (WEFT_DATA_DIR, else ~/.cache/weft), with symbolic links and ".."
// followed before that is decided; otherwise a run could name any file of a joiner as its training
// data and read it from the gradients. What the person says (DataPlaces::data and tokenizer) comes
// before both.
// Threads: any. Fails: kInvalidArgument for a path that is not allowed, kUnavailable where nothing
// is there; both name the path and what to do.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/data/catalog.h"
#include "weft/train/recipe.h"

namespace weft {

// Empty: the recipe reads none.
struct DataFiles {
  std::string data;       // data.path: a file or a folder
  std::string tokenizer;  // data.tokenizer
};
Result<DataFiles> find_data_files(const Recipe& recipe, const DataPlaces& places);

// The flags that let `weft join` on this machine take these files, whatever the recipe calls them.
std::vector<std::string> data_flags(const DataFiles& files);

}  // namespace weft
