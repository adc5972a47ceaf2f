// The loops of winograd.h for bf16: transformed tiles and filters are rounded to bf16, and two
// values of them are multiplied at once where the processor does (gemm_pairs_loops.h). Sums are
// f32.
#pragma once

#include "weft/base/isa/isa_loops.h"
#include "weft/kernel/conv/winograd/winograd_loops.h"

namespace weft {

struct WinogradPairs {
  // Whether the set has an instruction for this, or exists for tests. Otherwise f32 is faster, and
  // there are no loops here.
  bool preferred;
  WinogradTransforms<WinogradHalf, WinogradHalf> transforms;
  WinogradProducts<WinogradHalf> products;
};

// winograd_pairs(): the loops for this processor.
WEFT_DOT_LOOPS(WinogradPairs, winograd_pairs)

}  // namespace weft
