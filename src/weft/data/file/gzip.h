// gunzip: decompresses gzip data (RFC 1952) into memory, with a bound.
//
// Fails: kCorrupt on damaged or truncated data, on bytes after the last member, or on more than
// `bytes_max` bytes of output; a small file can therefore not fill the memory.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// The largest ratio of decompressed to compressed bytes in a deflate stream (RFC 1951): a larger
// claimed size is false.
inline constexpr std::size_t kDeflateRatioMax = 1032;

bool is_gzip(ByteSpan bytes);

// The concatenated contents of all members.
Result<Bytes> gunzip(ByteSpan bytes, std::size_t bytes_max);

}  // namespace weft
