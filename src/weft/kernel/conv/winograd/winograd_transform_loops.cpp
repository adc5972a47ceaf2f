// The transforms of minimal filtering, compiled once for each instruction set.
#include "weft/kernel/conv/winograd/winograd_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

// On x86-64 these loops are used with AVX2 only (onednn::own_loops_are_faster()): without it they
// are what tests compare with, and unrolling them takes as long as all other sets together.
#if defined(__x86_64__) && !defined(WEFT_WITH_AVX2) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

namespace weft {
namespace {

#include "weft/kernel/conv/winograd/winograd_blocks.inc"
#include "weft/kernel/conv/winograd/winograd_halves.inc"
#include "weft/kernel/conv/winograd/winograd_lines.inc"
#include "weft/kernel/conv/winograd/winograd_tiles.inc"
#include "weft/kernel/conv/winograd/winograd_transforms.inc"

}  // namespace

extern const WinogradImages WEFT_LOOPS_NAME(winograd_images) = {
    {input<float, float>, output<float, float>, output_gradient<float, float>, input_gradient,
     weights, weights_gradient},
    {input<WinogradHalf, float>, output<WinogradHalf, float>, output_gradient<WinogradHalf, float>,
     input_gradient<WinogradHalf>, weights, weights_gradient}};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
