// Weft's version: that of the headers and that of the linked library.
//
//   #if WEFT_VERSION >= 200  // 0.2.0 and later
//
// This is the only place of the number: CMake reads it here. Before version 1.0 interfaces change
// with the minor version.
#pragma once

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0
// 10,000 for each major version, 100 for each minor one, 1 for each patch.
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)

namespace weft {

// "0.1.0": of the library, which may be another than that of the headers above.
const char* version();

}  // namespace weft
