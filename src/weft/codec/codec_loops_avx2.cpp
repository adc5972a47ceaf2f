// The loops of codec_loops.h for processors with AVX2. The pragmas stand after all includes, so
// that no function of a header is compiled for AVX2.
#if defined(__x86_64__)

#include <cstring>

#include "weft/codec/codec_loops.h"
#include "weft/codec/wire_precision.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC optimize("O3,no-trapping-math")
#pragma GCC target("avx2")
#endif

namespace weft {
namespace {
#include "weft/codec/codec_loops.inc"
}  // namespace

const CodecLoops avx2_codec_loops = WEFT_CODEC_LOOPS;

}  // namespace weft

#if defined(__clang__)
#pragma clang attribute pop
#endif

#endif  // __x86_64__
