// The inner loops of half_rows.h, one build for each instruction set.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// Bits of 16-bit values from and to f32.
struct HalfRowLoops {
  void (*widen_bf16)(const std::uint16_t* from, float* to, std::int64_t count);
  void (*narrow_bf16)(const float* from, std::uint16_t* to, std::int64_t count);
  // These return how many values, from the first on, they have converted: none where the set has no
  // instruction for it.
  std::int64_t (*widen_f16)(const std::uint16_t* from, float* to, std::int64_t count);
  std::int64_t (*narrow_f16)(const float* from, std::uint16_t* to, std::int64_t count);
};

// half_row_loops(): the loops for this processor.
WEFT_PLAIN_LOOPS(HalfRowLoops, half_row_loops)

}  // namespace weft
