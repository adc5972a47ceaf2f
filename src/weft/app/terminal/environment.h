// The process's environment: WEFT_* settings and the places of datasets.
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
// The flags of a command that choose the files that a recipe reads.
struct DataChoice {
  // --data: a file that replaces data.path; or a folder that replaces WEFT_DATA_DIR, unless it
  // holds x.npy, or the recipe reads a folder that is not inside it: then the folder is the data.
  std::string data;
  std::string tokenizer;  // --tokenizer
};
// The files at these paths are examined when this is called.
DataPlaces data_places(const DataChoice& choice = {});
// For a recipe that came from others.
DataPlaces foreign_data_places(const DataChoice& choice = {});

// Starts this program again, in the same process, with a setting that lets OpenMP's threads, which
// are oneDNN's, spin only briefly while they wait. Their default is to spin for milliseconds, which
// keeps processors from our own threads and from other programs. Returns if the
// environment already sets how to wait, or if the system does not permit it. Call first in main().
void restart_with_short_spin(char** argv);

}  // namespace weft
