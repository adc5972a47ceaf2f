// output_files: what a command may write, found out before anything is computed.
//
// Threads: any. Fails: as below.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"

namespace weft {

// No output may be a file that the command reads (`taken`; "" is none), whatever `force` says, nor
// two outputs one file, nor a file that is there already without `force`. Fails: kInvalidArgument,
// or kUnavailable where the folder of an output is not there.
Status check_outputs(const std::vector<std::string>& outputs, std::vector<std::string> taken,
                     bool force);

}  // namespace weft
