// WirePrecision: the format in which f32 values are sent, and the conversions between values and
// bytes.
//
//   f32   4 bytes a value, little-endian
//   bf16  2 bytes: the upper half, rounded to nearest, ties to even
//   f16   2 bytes: IEEE binary16, rounded likewise; finite values beyond 65504 become +-65504
//   int8  blocks of kInt8Block values: an f32 scale, then a signed byte each; value = byte * scale,
//         scale = largest magnitude / 127. A block with a NaN or an infinity decodes to NaN, so
//         divergence becomes visible everywhere.
//
// Decoding gives the same bits on every processor; so all members that decode the same bytes hold
// the same values.
//
// Error feedback: a member keeps its rounding errors and adds them to the values that it rounds
// next at the same place. Over many rounds the sums then lose nothing and are only delayed.
// IMPLEMENTATION: F. Seide et al., "1-bit stochastic gradient descent", INTERSPEECH 2014 (the
// residual), S. P. Karimireddy et al., "Error feedback fixes SignSGD", ICML 2019. We keep residuals
// at each hop of a collective, where partial sums are rounded, not only at the source.
//
// Where it stands: collective encodes segments with it. Threads: free functions, any thread.
// Fails: never; sizes are the caller's to check (encoded_bytes), wrong ones are a bug.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/codec/loops/int8_block.h"

namespace weft {

enum class WirePrecision : std::uint8_t { kF32 = 0, kBf16 = 1, kF16 = 2, kInt8 = 3 };

// "f32", "bf16", "f16", "int8".
std::string_view to_string(WirePrecision precision);
// kInvalidArgument for any other word.
Result<WirePrecision> parse_wire_precision(std::string_view text);

// The number of bytes of this many values.
std::size_t encoded_bytes(WirePrecision precision, std::size_t elements);
// About the number of values in this many bytes: a multiple of the block, at least one block.
std::size_t elements_in(WirePrecision precision, std::size_t bytes);

// REQUIRES: out.size() == encoded_bytes(precision, values.size()); no overlap.
void encode(WirePrecision precision, std::span<const float> values, MutableByteSpan out);
// REQUIRES: bytes.size() == encoded_bytes(precision, out.size()); no overlap. Any bytes will do.
void decode(WirePrecision precision, ByteSpan bytes, std::span<float> out);

// Encodes values + residual. Then `values` are the decoded bytes, and `residual` has the rounding
// errors (0 where they are not finite). An empty `residual` keeps nothing.
// REQUIRES: residual is empty or as long as values.
void encode_keeping(WirePrecision precision, std::span<float> values, MutableByteSpan out,
                    std::span<float> residual);

}  // namespace weft
