// Sealing: AES-256-GCM under a key that both sides hold, with an initial value drawn each time.
//
//   sealed = initial value 12, ciphertext as long as the plain bytes, tag 16
//
// IMPLEMENTATION: NIST SP 800-38D, 8.2.2; a key seals far fewer than 2^32 values.
// Threads: functions of their arguments. Fails: kCorrupt for what was not sealed so.
#pragma once

#include <cstddef>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"

namespace weft {

inline constexpr std::size_t kSealBytes = 12 + 16;

// `context` is no part of what is sealed, but must be the same where it is opened.
Bytes seal(const Hash256& key, ByteSpan context, ByteSpan plain);
Result<Bytes> open_sealed(const Hash256& key, ByteSpan context, ByteSpan sealed);

}  // namespace weft
