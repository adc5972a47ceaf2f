// The loops of codec_loops.h, compiled once for each instruction set.
#include "weft/codec/loops/codec_loops.h"

#include <cstring>

#include "weft/base/isa/loops_begin.inc"
#include "weft/codec/loops/int8_block.h"

namespace weft {
namespace {

constexpr std::uint32_t kSign = 0x80000000U;
constexpr std::uint32_t kInfinity = 0x7f800000U;

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void encode_bf16(const float* values, std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = bits_of(values[i]);
    const std::uint32_t rounded = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    const std::uint32_t quiet = (bits >> 16U) | 0x40U;
    const auto out = static_cast<std::uint16_t>((bits & ~kSign) > kInfinity ? quiet : rounded);
    std::memcpy(bytes + 2 * i, &out, sizeof out);
  }
}

void decode_bf16(const std::uint8_t* bytes, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t in = 0;
    std::memcpy(&in, bytes + 2 * i, sizeof in);
    values[i] = float_of(static_cast<std::uint32_t>(in) << 16U);
  }
}

void encode_f16(const float* values, std::uint8_t* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = bits_of(values[i]);
    const std::uint32_t sign = (bits & kSign) >> 16U;
    const std::uint32_t size = bits & ~kSign;
    // 112 = 127 - 15 is the difference of the exponents' biases; 13 = 23 - 10 that of the lengths.
    std::uint32_t normal = (size - (112U << 23U) + 0xfffU + ((size >> 13U) & 1U)) >> 13U;
    normal = normal > 0x7bffU ? 0x7bffU : normal;
    // Adding 0.5 lets the processor round at the place of f16's smallest bit.
    const std::uint32_t small = size < (113U << 23U) ? size : 0U;
    const std::uint32_t subnormal = bits_of(float_of(small) + 0.5F) - bits_of(0.5F);
    std::uint32_t out = size < (113U << 23U) ? subnormal : normal;
    out = size == kInfinity ? 0x7c00U : out;
    out = size > kInfinity ? 0x7e00U : out;
    const auto half = static_cast<std::uint16_t>(out | sign);
    std::memcpy(bytes + 2 * i, &half, sizeof half);
  }
}

void decode_f16(const std::uint8_t* bytes, float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t in = 0;
    std::memcpy(&in, bytes + 2 * i, sizeof in);
    const std::uint32_t half = in;
    const std::uint32_t sign = (half & 0x8000U) << 16U;
    const std::uint32_t size = (half & 0x7fffU) << 13U;
    const std::uint32_t exponent = size & (0x1fU << 23U);
    const std::uint32_t normal = size + (112U << 23U);
    const std::uint32_t special = normal + (112U << 23U);
    const std::uint32_t subnormal = bits_of(float_of(size + (113U << 23U)) - float_of(113U << 23U));
    std::uint32_t out = exponent == 0 ? subnormal : normal;
    out = exponent == (0x1fU << 23U) ? special : out;
    values[i] = float_of(out | sign);
  }
}

// 1.5 * 2^23: a sum with it has the nearest whole number in its low bits.
constexpr float kRounder = 12582912.0F;
// Below, 127 / largest would be infinite.
constexpr float kLeastScaled = 1e-36F;

void encode_int8_block(const float* values, std::uint8_t* bytes, std::size_t count) {
  std::uint32_t largest_bits = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t size = bits_of(values[i]) & ~kSign;
    largest_bits = size > largest_bits ? size : largest_bits;
  }
  const float largest = float_of(largest_bits);
  const bool finite = largest_bits < kInfinity;
  const bool scaled = finite && largest >= kLeastScaled;
  const float scale = scaled ? largest / 127.0F : (finite ? 0.0F : float_of(0x7fc00000U));
  std::memcpy(bytes, &scale, sizeof scale);
  std::uint8_t* out = bytes + sizeof scale;
  if (!scaled) {
    std::memset(out, 0, count);
    return;
  }
  const float inverse = 127.0F / largest;
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::uint8_t>(bits_of(values[i] * inverse + kRounder));
  }
}

void encode_int8(const float* values, std::uint8_t* bytes, std::size_t count) {
  for (; count >= kInt8Block; count -= kInt8Block) {
    encode_int8_block(values, bytes, kInt8Block);
    values += kInt8Block;
    bytes += sizeof(float) + kInt8Block;
  }
  if (count > 0) encode_int8_block(values, bytes, count);
}

void decode_int8(const std::uint8_t* bytes, float* values, std::size_t count) {
  while (count > 0) {
    const std::size_t block = count < kInt8Block ? count : kInt8Block;
    float scale = 0;
    std::memcpy(&scale, bytes, sizeof scale);
    bytes += sizeof scale;
    for (std::size_t i = 0; i < block; ++i) {
      values[i] = static_cast<float>(static_cast<std::int8_t>(bytes[i])) * scale;
    }
    values += block;
    bytes += block;
    count -= block;
  }
}

void add(float* values, const float* other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] += other[i];
}

void keep(float* values, const float* rounded, float* residual, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float dropped = values[i] - rounded[i];
    residual[i] = (bits_of(dropped) & kInfinity) == kInfinity ? 0.0F : dropped;
    values[i] = rounded[i];
  }
}

std::uint32_t least_kept(const std::uint32_t* sizes, std::size_t count, std::size_t rank) {
  std::uint32_t found = 0;
  for (int bit = 30; bit >= 0; --bit) {
    const auto least = static_cast<std::int32_t>(found | 1U << static_cast<unsigned>(bit));
    std::uint32_t reached = 0;
    for (std::size_t i = 0; i < count; ++i) {
      reached += static_cast<std::int32_t>(sizes[i]) >= least ? 1U : 0U;
    }
    if (reached >= rank) found = static_cast<std::uint32_t>(least);
    if (reached == rank) break;
  }
  return found;
}

// One value of each vector that is transformed.
using Lanes [[gnu::vector_size(sizeof(double) * kCosineLanes)]] = double;

inline Lanes lanes_at(const double* values, std::size_t n) {
  Lanes lanes;
  std::memcpy(&lanes, values + n * kCosineLanes, sizeof lanes);
  return lanes;
}
inline void put_lanes(double* values, std::size_t n, const Lanes& lanes) {
  std::memcpy(values + n * kCosineLanes, &lanes, sizeof lanes);
}

// The product with the matrix, whose entry of value n and coefficient k is cosines[(2n + 1) k]; the
// cosines repeat after 4 times the length.
template <bool kInverse>
void cosine_odd(double* values, double* work, std::size_t length, const double* cosines) {
  for (std::size_t to = 0; to < length; ++to) {
    Lanes sum = {};
    for (std::size_t from = 0; from < length; ++from) {
      const std::size_t turn = kInverse ? (2 * to + 1) * from : (2 * from + 1) * to;
      sum += lanes_at(values, from) * cosines[turn % (4 * length)];
    }
    put_lanes(work, to, sum);
  }
  std::memcpy(values, work, length * sizeof(Lanes));
}

void forward_part(double* values, double* work, std::size_t length, const double* secants,
                  const CosineFactors& factors) {
  if (length == 1) return;
  if (length == factors.odd) return cosine_odd<false>(values, work, length, factors.cosines);
  const std::size_t half = length / 2;
  for (std::size_t n = 0; n < half; ++n) {
    const Lanes one = lanes_at(values, n);
    const Lanes other = lanes_at(values, length - 1 - n);
    put_lanes(work, n, one + other);
    put_lanes(work, half + n, (one - other) * secants[n]);
  }
  forward_part(work, values, half, secants + half, factors);
  forward_part(work + half * kCosineLanes, values + half * kCosineLanes, half, secants + half,
               factors);
  for (std::size_t k = 0; k + 1 < half; ++k) {
    put_lanes(values, 2 * k, lanes_at(work, k));
    put_lanes(values, 2 * k + 1, lanes_at(work, half + k) + lanes_at(work, half + k + 1));
  }
  put_lanes(values, length - 2, lanes_at(work, half - 1));
  put_lanes(values, length - 1, lanes_at(work, length - 1));
}

void inverse_part(double* values, double* work, std::size_t length, const double* secants,
                  const CosineFactors& factors) {
  if (length == 1) return;
  if (length == factors.odd) return cosine_odd<true>(values, work, length, factors.cosines);
  const std::size_t half = length / 2;
  put_lanes(work, 0, lanes_at(values, 0));
  put_lanes(work, half, lanes_at(values, 1));
  for (std::size_t k = 1; k < half; ++k) {
    put_lanes(work, k, lanes_at(values, 2 * k));
    put_lanes(work, half + k, lanes_at(values, 2 * k + 1) + lanes_at(values, 2 * k - 1));
  }
  inverse_part(work, values, half, secants + half, factors);
  inverse_part(work + half * kCosineLanes, values + half * kCosineLanes, half, secants + half,
               factors);
  for (std::size_t n = 0; n < half; ++n) {
    const Lanes even = lanes_at(work, n);
    const Lanes odd = lanes_at(work, half + n) * secants[n];
    put_lanes(values, n, even + odd);
    put_lanes(values, length - 1 - n, even - odd);
  }
}

void cosine_forward(double* values, double* work, std::size_t length,
                    const CosineFactors& factors) {
  forward_part(values, work, length, factors.secants, factors);
}

void cosine_inverse(double* values, double* work, std::size_t length,
                    const CosineFactors& factors) {
  inverse_part(values, work, length, factors.secants, factors);
}

// Bit i of a word, in memory: SSE2 has no shift by another number in each lane.
constexpr std::size_t kWordBits = 32;
struct WordBits {
  std::uint32_t bit[kWordBits];
};
constexpr WordBits make_word_bits() {
  WordBits bits{};
  for (std::size_t i = 0; i < kWordBits; ++i) bits.bit[i] = 1U << i;
  return bits;
}
constexpr WordBits kBits = make_word_bits();

// The bytes of `count` <= 32 bits.
inline std::size_t word_bytes(std::size_t count) { return (count + 7) / 8; }
inline std::size_t word_values(std::size_t count) { return count < kWordBits ? count : kWordBits; }

inline void word_of_signs(const float* values, std::size_t count, std::uint32_t& signs,
                          std::uint32_t& zeros) {
  std::uint32_t below = 0;
  std::uint32_t zero = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = bits_of(values[i]);
    below |= bits > kSign ? kBits.bit[i] : 0U;
    zero |= (bits & ~kSign) == 0 ? kBits.bit[i] : 0U;
  }
  signs = below;
  zeros = zero;
}

bool sign_bits(const float* values, std::uint8_t* signs, std::uint8_t* zeros, std::size_t count) {
  std::uint32_t any = 0;
  for (std::size_t at = 0; at < count; at += kWordBits) {
    std::uint32_t below = 0;
    std::uint32_t zero = 0;
    const std::size_t here = word_values(count - at);
    // A constant number of values is what the compiler makes vectors of.
    if (here == kWordBits) {
      word_of_signs(values + at, kWordBits, below, zero);
    } else {
      word_of_signs(values + at, here, below, zero);
    }
    any |= zero;
    std::memcpy(signs + at / 8, &below, word_bytes(here));
    std::memcpy(zeros + at / 8, &zero, word_bytes(here));
  }
  return any != 0;
}

void spread_signs(const std::uint8_t* signs, float size, float* values, std::size_t count) {
  const std::uint32_t bits = bits_of(size);
  for (std::size_t at = 0; at < count; at += kWordBits) {
    std::uint32_t word = 0;
    const std::size_t here = word_values(count - at);
    std::memcpy(&word, signs + at / 8, word_bytes(here));
    for (std::size_t i = 0; i < here; ++i) {
      values[at + i] = float_of(bits ^ ((word & kBits.bit[i]) != 0 ? kSign : 0U));
    }
  }
}

void clear_zeros(const std::uint8_t* zeros, float* values, std::size_t count) {
  for (std::size_t at = 0; at < count; at += kWordBits) {
    std::uint32_t word = 0;
    const std::size_t here = word_values(count - at);
    std::memcpy(&word, zeros + at / 8, word_bytes(here));
    for (std::size_t i = 0; i < here; ++i) {
      values[at + i] = (word & kBits.bit[i]) != 0 ? 0.0F : values[at + i];
    }
  }
}

std::uint32_t largest_size(const float* values, std::size_t count) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::int32_t>(bits_of(values[i]) & ~kSign);
    largest = size > largest ? size : largest;
  }
  return static_cast<std::uint32_t>(largest);
}

}  // namespace

extern const CodecLoops WEFT_LOOPS_NAME(codec_loops) = {
    encode_bf16,    decode_bf16, encode_f16,   decode_f16,  encode_int8,
    decode_int8,    add,         keep,         least_kept,  cosine_forward,
    cosine_inverse, sign_bits,   spread_signs, clear_zeros, largest_size};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
