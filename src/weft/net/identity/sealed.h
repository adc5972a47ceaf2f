// Sealing: AES-256-GCM under a key that both sides hold, with an initial value drawn each time.
//
//   sealed = initial value 12, ciphertext as long as the plain bytes, tag 16
//
// IMPLEMENTATION: NIST SP 800-38D, 8.2.2; a key seals far fewer than 2^32 values. Threads:
// functions of their arguments. Fails: kCorrupt if the bytes were not sealed with this key and
// context.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kSealBytes = 12 + 16;

// `context` is authenticated but not part of the sealed bytes; it must be the same when they are
// opened.
Bytes seal(const Hash256& key, ByteSpan context, ByteSpan plain);
Result<Bytes> open_sealed(const Hash256& key, ByteSpan context, ByteSpan sealed);

}  // namespace weft
