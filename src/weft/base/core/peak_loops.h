// PeakLoops: chains of multiply-adds in registers, and a triad in memory, one build for each
// instruction set.
//
// For machine_peak.cpp. Threads: any. Fails: never.
#pragma once

#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

struct PeakLoops {
  // f32 operations of a round; a multiply-add is two.
  std::int64_t flops_a_round;
  // Each value x of the chains, which begin at `first`, first + 1, ..., becomes 0.999 x + 0.001 in
  // each of `rounds` rounds. Returns the sum of the chains: what a compiler must not leave out.
  float (*multiply_adds)(float first, std::int64_t rounds);
  // a[i] = b[i] + 3 c[i], `count` times.
  void (*triad)(float* a, const float* b, const float* c, std::int64_t count);
};

// peak_loops(): the loops for this processor.
WEFT_LOOPS(PeakLoops, peak_loops)

}  // namespace weft
