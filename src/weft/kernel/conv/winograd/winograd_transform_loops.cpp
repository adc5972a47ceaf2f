// The transforms of minimal filtering, compiled once for each instruction set.
#include "weft/base/isa/loops_begin.inc"
#include "weft/kernel/conv/winograd/winograd_loops.h"

// On x86-64 these loops are used with AVX2 only (onednn::own_loops_are_faster()): without it they
// are what tests compare with, and unrolling them takes as long as all other sets together.
#if defined(__x86_64__) && !defined(WEFT_WITH_AVX2) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

namespace weft {
namespace {

#include "weft/kernel/conv/winograd/winograd_blocks.inc"
#include "weft/kernel/conv/winograd/winograd_lines.inc"
#include "weft/kernel/conv/winograd/winograd_tiles.inc"
#include "weft/kernel/conv/winograd/winograd_transforms.inc"

}  // namespace

extern const WinogradTransforms<float> WEFT_LOOPS_NAME(winograd_transforms) = {
    input<float>, output<float>, output_gradient<float>, input_gradient, weights, weights_gradient};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
