// The rotary encoding of places.
//
// IMPLEMENTATION: Su, Lu, Pan, Murtadha, Wen, Liu, "RoFormer: enhanced transformer with rotary
// position embedding", 2021, section 3.2.2, with the pairs (i, i + D / 2) as LLaMA's published
// weights have them. Angles are computed in f64.
// Threads: the calling thread and the compute threads.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/array/array.h"

namespace weft {

struct RotaryRun {
  double base = 10000.0;
  std::int64_t first_place = 0;
  bool inverse = false;
  // The first place of each item of the batch, if these differ; else empty.
  std::vector<std::int64_t> row_places = {};
};

// x [B, T, heads, D], D even, any strides: pair (x[i], x[i + D / 2]) of the token at place
// first_place + t turned by the angle place base^(-2 i / D), the other way if inverse. Contiguous.
Array rotary_turn(const Array& x, const RotaryRun& run);

}  // namespace weft
