// PeakLoops: chains of multiply-adds in registers, one build for each instruction set.
//
// For machine_peak.cpp. Threads: any. Fails: never.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

struct PeakLoops {
  // f32 operations of a round; a multiply-add is two.
  std::int64_t flops_a_round;
  // Runs `rounds` rounds and returns what they leave, so that no compiler leaves them out.
  float (*multiply_adds)(std::int64_t rounds);
};

// peak_loops(): the loops for this processor.
WEFT_LOOPS(PeakLoops, peak_loops)

}  // namespace weft
