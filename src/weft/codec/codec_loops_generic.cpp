// The loops of codec_loops.h for any processor.
#include <cstring>

#include "weft/codec/codec_loops.h"
#include "weft/codec/wire_precision.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3,no-trapping-math")
#endif

namespace weft {
namespace {
#include "weft/codec/codec_loops.inc"
}  // namespace

const CodecLoops generic_codec_loops = WEFT_CODEC_LOOPS;

}  // namespace weft
