// What the process's environment says: WEFT_* settings and the places of datasets.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/data/catalog.h"

namespace weft {

// "" for a variable that is not set.
std::string environment_variable(const char* name);
// Every variable whose name begins with WEFT_.
std::vector<std::pair<std::string, std::string>> weft_variables();
// What the flags of a command say of the files that a recipe reads.
struct DataChoice {
  // --data: the file that stands for data.path; or a folder, in the place of WEFT_DATA_DIR, unless
  // it holds x.npy, or the recipe reads a folder that is not below it: then it is the data.
  std::string data;
  std::string tokenizer;  // --tokenizer
};
// What stands at a path is looked at when this is called.
DataPlaces data_places(const DataChoice& choice = {});
// For a recipe that came from others.
DataPlaces foreign_data_places(const DataChoice& choice = {});

// Starts this program anew, in the same process, with OpenMP's threads told to wait by spinning
// only briefly. Their default is to spin for milliseconds, which on a machine with more busy
// processes than cores makes two threads several times slower than one. Returns where the
// environment already says how to wait, or where the system does not let it. Call first in main().
void restart_with_short_spin(char** argv);

}  // namespace weft
