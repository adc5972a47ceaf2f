// gunzip: inflates gzip data (RFC 1952) into memory, with a bound.
//
// Fails: kCorrupt on damaged or truncated data, bytes after the last member, or more than
// `bytes_max` bytes of output; a small file can therefore not fill the memory.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"
#include "weft/base/status.h"

namespace weft {

// No deflate stream grows by more than this when inflated (RFC 1951): a claimed size beyond it is
// a lie.
inline constexpr std::size_t kDeflateRatioMax = 1032;

bool is_gzip(ByteSpan bytes);

// The concatenated contents of all members.
Result<Bytes> gunzip(ByteSpan bytes, std::size_t bytes_max);

}  // namespace weft
