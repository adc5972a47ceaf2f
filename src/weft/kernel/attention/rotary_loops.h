// The loop of rotary.cpp over the values of one head in f32, one build for each instruction set.
// All give the same bits: nothing is contracted.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

struct RotaryLoops {
  // y[i] = x[i] cos[i] - x[half + i] sin[i], y[half + i] = x[half + i] cos[i] + x[i] sin[i]; the
  // other way round with -sin.
  using Turn = void (*)(const float* x, float* y, const float* cos, const float* sin,
                        std::int64_t half);
  Turn turn;
  Turn turn_back;
};

// rotary_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(RotaryLoops, rotary_loops)

}  // namespace weft
