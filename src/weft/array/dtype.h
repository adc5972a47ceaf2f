// DType: the element types of an Array.
//
// Fails: dtype_of<T> for another T does not compile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/base/check.h"

namespace weft {

enum class DType : std::uint8_t { kF32, kF64, kI64, kU8 };

// Bytes of one element.
constexpr std::size_t size_of(DType dtype) {
  return dtype == DType::kU8 ? 1 : dtype == DType::kF32 ? 4 : 8;
}

// "f32", "f64", "i64", "u8".
std::string_view to_string(DType dtype);

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
}  // namespace internal

template <class T>
constexpr DType dtype_of() {
  return internal::DTypeOf<T>::kValue;
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
      break;
  }
  return body(std::uint8_t{});
}

}  // namespace weft
