// map_file: the bytes of a file without reading them first; the system brings pages as they are
// touched and takes them back when memory is short.
//
// The file must not be cut short while it is mapped: touching what is gone ends the process.
// Threads: any. Fails: kUnavailable where the system refuses, with its reason.
#pragma once

#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// The bytes of the regular file `path`; the mapping lives as long as any copy of the result.
Result<SharedBytes> map_file(const std::string& path);

}  // namespace weft
