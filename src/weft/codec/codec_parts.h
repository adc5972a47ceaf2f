// Parts that several codecs have in common. For this folder. Threads: pure. Fails: never.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/base/bytes.h"
#include "weft/base/option.h"

namespace weft {

// The option of codecs that send a share of the values.
inline constexpr Option kShareOption = {
    .name = "ratio",
    .fallback = 0.01,
    .min = 1e-6,
    .max = 1,
    .help = "The share of the values that is sent, at least one value.",
};

// How many of `elements` values a share is, rounded up.
inline std::size_t share_of(double ratio, std::size_t elements) {
  if (elements == 0) return 0;
  const double wanted = std::ceil(ratio * static_cast<double>(elements));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, elements);
}

// Appends the first `count` bytes of a trivially copyable value, little-endian.
template <class T>
void append_value(const T& value, Bytes& out, std::size_t count = sizeof(T)) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + count);
}

// In double, in order.
inline double sum_of_squares(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return squares;
}

}  // namespace weft
