// Numbers that stand for states and results of toy rounds: mixed, so that any difference stays one.
//
// Threads: pure. Fails: never.
#pragma once

#include <cstdint>

#include "weft/base/hash.h"

namespace weft {

inline std::uint64_t mixed_number(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

// The first eight bytes.
inline std::uint64_t number_of_hash(const Hash256& bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | bytes[i];
  return number;
}

}  // namespace weft
