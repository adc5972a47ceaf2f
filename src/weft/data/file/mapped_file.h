// map_file: the bytes of a file without reading them first; the system loads pages when they are
// accessed and drops them when memory is short.
//
// The file must not be truncated while it is mapped: access to the missing part ends the process.
// Threads: any. Fails: kUnavailable with the system's reason.
#pragma once

#include <string>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// The bytes of the regular file `path`; the mapping lives as long as any copy of the result.
Result<SharedBytes> map_file(const std::string& path);

}  // namespace weft
