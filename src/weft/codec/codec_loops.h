// CodecLoops: the loops of wire_precision.h, compiled once for any processor and once for AVX2.
//
// Both give the same bits. Threads: any. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// `bytes` at any alignment.
struct CodecLoops {
  void (*encode_bf16)(const float* values, std::uint8_t* bytes, std::size_t count);
  void (*decode_bf16)(const std::uint8_t* bytes, float* values, std::size_t count);
  void (*encode_f16)(const float* values, std::uint8_t* bytes, std::size_t count);
  void (*decode_f16)(const std::uint8_t* bytes, float* values, std::size_t count);
  void (*encode_int8)(const float* values, std::uint8_t* bytes, std::size_t count);
  void (*decode_int8)(const std::uint8_t* bytes, float* values, std::size_t count);
  // values[i] += other[i]
  void (*add)(float* values, const float* other, std::size_t count);
  // residual[i] = values[i] - rounded[i], or 0; values[i] = rounded[i]
  void (*keep)(float* values, const float* rounded, float* residual, std::size_t count);
};

// codec_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(CodecLoops, codec_loops)

}  // namespace weft
