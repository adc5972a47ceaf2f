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
DataPlaces data_places();

}  // namespace weft
