// The run in which a folder's newest checkpoint was saved, according to the file.
//
// Threads: any. Fails: as reading the file does.
#pragma once

#include <string>

#include "weft/base/status.h"

namespace weft {

// `folder`: as Checkpoints has it. Hexadecimal; empty if there is none, or it names no run.
Result<std::string> newest_checkpoint_run(const std::string& folder);

}  // namespace weft
