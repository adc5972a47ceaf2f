// output_files: checks, before anything is computed, that a command may write its outputs.
//
// Threads: any. Fails: as below.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"

namespace weft {

// No output may be a file that the command reads (`taken`; "" is none), even with `force`; no two
// outputs may be one file; and an existing file needs `force`. Fails: kInvalidArgument, or
// kUnavailable if the folder of an output does not exist.
Status check_outputs(const std::vector<std::string>& outputs, std::vector<std::string> taken,
                     bool force);

}  // namespace weft
