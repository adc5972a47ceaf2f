// BFloat16 and Float16: the two 16-bit floating types, as storage; sums and products are f32.
//
// BFloat16 is the upper half of an f32 (8 bits of exponent, 7 of fraction); Float16 is IEEE 754
// binary16 (5 and 10). From a float they round to nearest, ties to even; values too large for
// Float16 (65520 and more) become infinity; a NaN stays a NaN, quiet, with its sign. To a float
// they are exact. To convert many at once use array/dtype/half_rows.h, which gives the same bits.
#pragma once

#include <cstdint>
#include <type_traits>

namespace weft {

namespace internal {

constexpr std::uint16_t to_bf16_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) {
    return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  }
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

constexpr float from_bf16_bits(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16U);
}

constexpr std::uint16_t to_f16_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16U) & 0x8000U);
  const std::uint32_t size = bits & 0x7FFFFFFFU;
  if (size > 0x7F800000U) {
    return static_cast<std::uint16_t>(sign | 0x7E00U | ((size >> 13U) & 0x3FFU));
  }
  if (size >= 0x477FF000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (size < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the subnormal's fraction, rounded, in the low bits.
    const float shifted = __builtin_bit_cast(float, size) + 0.5F;
    return static_cast<std::uint16_t>(sign |
                                      (__builtin_bit_cast(std::uint32_t, shifted) - 0x3F000000U));
  }
  const std::uint32_t rebased = size - 0x38000000U + 0xFFFU + ((size >> 13U) & 1U);
  return static_cast<std::uint16_t>(sign | (rebased >> 13U));
}

constexpr float from_f16_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
  const std::uint32_t size = bits & 0x7FFFU;
  if (size > 0x7C00U) return __builtin_bit_cast(float, sign | 0x7FC00000U | (size << 13U));
  if (size == 0x7C00U) return __builtin_bit_cast(float, sign | 0x7F800000U);
  if (size < 0x400U) {
    // 2^-24 times the fraction: exact.
    const float value = static_cast<float>(size) * 5.9604644775390625e-8F;
    return __builtin_bit_cast(float, sign | __builtin_bit_cast(std::uint32_t, value));
  }
  return __builtin_bit_cast(float, sign | ((size << 13U) + 0x38000000U));
}

}  // namespace internal

struct BFloat16 {
  std::uint16_t bits;

  BFloat16() = default;
  // Other arithmetic types go through float, as in PyTorch.
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr explicit BFloat16(T value) : bits(internal::to_bf16_bits(static_cast<float>(value))) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const { return internal::from_bf16_bits(bits); }
};

struct Float16 {
  std::uint16_t bits;

  Float16() = default;
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  constexpr explicit Float16(T value) : bits(internal::to_f16_bits(static_cast<float>(value))) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator float() const { return internal::from_f16_bits(bits); }
};

static_assert(sizeof(BFloat16) == 2 && sizeof(Float16) == 2);

}  // namespace weft
