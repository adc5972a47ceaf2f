// IDX: the file format of MNIST and its relatives; unsigned bytes only, plain or gzip.
//
//   file   := 0x00 0x00 0x08 dimensions:u8 size:u32be{dimensions} value:u8{product of sizes}
//
// Every field is checked before it is used; a file may come from anywhere.
// Fails: kCorrupt "path: expected X, got Y"; kUnavailable where the file cannot be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kIdxDimensionsMax = 4;
inline constexpr std::size_t kIdxBytesMax = std::size_t{1} << 30U;  // inflated

struct IdxView {
  std::vector<std::int64_t> sizes;  // e.g. [60000, 28, 28]; a size may be 0
  ByteSpan values;                  // row-major; borrowed from the parsed bytes
};

// REQUIRES of the file: 1 to kIdxDimensionsMax dimensions and exactly the bytes they announce.
Result<IdxView> parse_idx(ByteSpan bytes);

struct IdxFile {
  std::vector<std::int64_t> sizes;
  SharedBytes values;
  SharedBytes contents;  // the whole inflated file, for its checksum
};

// Reads and parses `path`; gzip is recognised by its first bytes, not by the name.
Result<IdxFile> read_idx(const std::string& path, std::size_t bytes_max = kIdxBytesMax);

}  // namespace weft
