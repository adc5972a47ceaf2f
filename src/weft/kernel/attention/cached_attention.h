// Attention of new tokens behind cached ones, for generation: appends keys and values to their
// caches and reads all of them where they are. attention.h has the method; f32 alone.
//
// Threads: the calling thread and the compute threads; the same bits for any number of them, and
// the same as attention_forward() gives. Fails: never.
#pragma once

#include <cstdint>
#include <span>

#include "weft/array/array.h"

namespace weft {

// Room for the keys and values of one text, or of several in step: [B, kv_heads, capacity, D],
// contiguous.
struct CachedTokens {
  Array* keys = nullptr;
  Array* values = nullptr;
  std::int64_t count = 0;  // of the tokens that are there
};

// q [B, T, heads, D], k and v [B, T, kv_heads, D] of any strides but 1 on the last axis. Query i of
// a text reads its cached tokens and its own new ones up to i; scores are divided by sqrt(D).
// `caches`: one of B texts, or B of one text each; each has room for T more, which are written.
// Returns [B, T, heads D].
Array cached_attention(const Array& q, const Array& k, const Array& v,
                       std::span<const CachedTokens> caches);

}  // namespace weft
