// CodecLoops: the loops of wire_precision.h, of cosine_transform.h, of the choice of the largest
// values and of signs in bits, compiled once for any processor and once for AVX2.
//
// Both give the same bits. Threads: any. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/isa/isa_loops.h"

namespace weft {

// So many vectors are transformed at once; their values stand side by side.
inline constexpr std::size_t kCosineLanes = 4;

// The factors of a transform, see cosine_transform.h. Borrowed.
struct CosineFactors {
  std::size_t odd = 1;
  const double* secants = nullptr;
  const double* cosines = nullptr;
};

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
  // A bound that `rank` of `sizes`, which are below 2^31, reach and no others, or where some are
  // equal, the `rank`-th largest of them. In passes, one for each bit. REQUIRES: 0 < rank <= count.
  std::uint32_t (*least_kept)(const std::uint32_t* sizes, std::size_t count, std::size_t rank);
  // The sums of the DCT-II and of its inverse, without the scales. `values` and `work` have
  // kCosineLanes * length doubles: value n of vector v is at n * kCosineLanes + v.
  void (*cosine_forward)(double* values, double* work, std::size_t length,
                         const CosineFactors& factors);
  void (*cosine_inverse)(double* values, double* work, std::size_t length,
                         const CosineFactors& factors);
  // Bits of `count` values, the lowest bit of a byte first: 1 in `signs` for values below zero, in
  // `zeros` for values that are zero. Returns whether there is such a zero.
  bool (*sign_bits)(const float* values, std::uint8_t* signs, std::uint8_t* zeros,
                    std::size_t count);
  // values[i] = -size where bit i of `signs` is 1, else size
  void (*spread_signs)(const std::uint8_t* signs, float size, float* values, std::size_t count);
  // values[i] = 0 where bit i of `zeros` is 1
  void (*clear_zeros)(const std::uint8_t* zeros, float* values, std::size_t count);
  // The largest magnitude, as the bits of a float: above those of infinity for a NaN.
  std::uint32_t (*largest_size)(const float* values, std::size_t count);
};

// codec_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(CodecLoops, codec_loops)

}  // namespace weft
