// DType: the element types of an Array, the promoted type of two, and the conversion of values.
//
// Promotion is PyTorch's: bool < integers < floats; within a kind the wider type; f16 with bf16
// gives f32; u8 with i8 gives i32 (PyTorch: i16, which Weft does not have).
// Fails: dtype_of<T> for another T does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <string_view>
#include <type_traits>

#include "weft/array/dtype/half.h"
#include "weft/base/check.h"

namespace weft {

enum class DType : std::uint8_t { kF32, kF64, kI64, kU8, kBF16, kF16, kI8, kI32, kBool };
inline constexpr std::size_t kDTypes = 9;

// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kU8:
    case DType::kI8:
    case DType::kBool:
      break;
  }
  return 1;
}

// f32, f64, bf16 or f16.
constexpr bool is_floating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kBF16 ||
         dtype == DType::kF16;
}
// The two types of 16 bits, whose sums are kept in f32.
constexpr bool is_half(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }
// i64, u8, i8 or i32; bool is neither.
constexpr bool is_integer(DType dtype) { return !is_floating(dtype) && dtype != DType::kBool; }

// The type that holds values of both.
DType promote_types(DType a, DType b);

// "f32", "f64", "i64", "u8", "bf16", "f16", "i8", "i32", "bool".
std::string_view to_string(DType dtype);
std::ostream& operator<<(std::ostream& out, DType dtype);

namespace internal {
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kF32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kF64;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::kI64;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::kU8;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType kValue = DType::kBF16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType kValue = DType::kF16;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType kValue = DType::kI8;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kI32;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};
[[noreturn]] void throw_not_floating(DType dtype);
}  // namespace internal

template <class T>
constexpr DType dtype_of() {
  return internal::DTypeOf<T>::kValue;
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>;
template <class T>
inline constexpr bool kIsFloating = std::is_floating_point_v<T> || kIsHalf<T>;

// `value` as a To: to bool is "not 0" (NaN is true); a float to an integer drops the fraction,
// values outside the range give the nearest limit and NaN gives 0; an integer to a narrower one
// keeps the low bits; to bf16 and f16 goes through f32.
template <class To, class From>
constexpr To convert_value(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (kIsHalf<From>) {
    return convert_value<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The first float above the range, exactly: 2^7, 2^8, 2^31 or 2^63.
    constexpr auto kHalf = std::numeric_limits<To>::max() / 2 + 1;
    constexpr From kEnd = static_cast<From>(kHalf) * From{2};
    constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
    if (value >= kEnd) return std::numeric_limits<To>::max();
    if (value <= kLow) return std::numeric_limits<To>::min();
    return value == value ? static_cast<To>(value) : To{0};
  } else {
    return static_cast<To>(value);
  }
}

// Calls body(T{}) with the C++ type of `dtype`.
template <class Body>
decltype(auto) with_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32:
      return body(float{});
    case DType::kF64:
      return body(double{});
    case DType::kI64:
      return body(std::int64_t{});
    case DType::kU8:
      return body(std::uint8_t{});
    case DType::kBF16:
      return body(BFloat16{});
    case DType::kF16:
      return body(Float16{});
    case DType::kI8:
      return body(std::int8_t{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kBool:
      break;
  }
  return body(bool{});
}

// The same for f32, f64, bf16 and f16; throws std::invalid_argument for others.
template <class Body>
decltype(auto) with_floating_dtype(DType dtype, Body&& body) {
  if (!is_floating(dtype)) internal::throw_not_floating(dtype);
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kBF16:
      return body(BFloat16{});
    case DType::kF16:
      return body(Float16{});
    default:
      return body(float{});
  }
}

}  // namespace weft
