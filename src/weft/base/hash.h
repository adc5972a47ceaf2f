// Hashes: SHA-256 if an adversary may choose the bytes, XXH3 otherwise.
//
// SHA-256 names identities, recipes and blocks of state; XXH3-128 compares the state of members
// every round at memory speed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/base/bytes.h"

namespace weft {

using Hash256 = std::array<std::uint8_t, 32>;
using Hash128 = std::array<std::uint8_t, 16>;

Hash256 sha256(ByteSpan bytes);

// SHA-256 over parts. Threads: one owner.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  Sha256& update(ByteSpan bytes);
  // REQUIRES: called once.
  Hash256 finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// HMAC-SHA-256 of `message` under `key`.
Hash256 hmac_sha256(ByteSpan key, ByteSpan message);

// XXH3 with 128 bits, big-endian; fast, not for hostile input.
Hash128 xxh3_128(ByteSpan bytes);

// Fills `out` with bytes that nobody can guess (operating system's generator).
void random_bytes(MutableByteSpan out);

}  // namespace weft
