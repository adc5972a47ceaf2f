// Parts that several codecs have in common. For this folder. Threads: pure. Fails: never.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/option.h"
#include "weft/codec/loops/codec_loops.h"

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

// Grows with the magnitude; infinity and NaN are the largest.
inline std::uint32_t magnitude(float value) {
  return std::bit_cast<std::uint32_t>(value) & 0x7fffffffU;
}

// Finds the largest of many vectors, one after the other, in the same memory.
class LargestPlaces {
 public:
  // The places of the `count` largest magnitudes, ascending. Ties go to the lowest place, and zeros
  // stay behind. The result is this object's until the next call.
  // REQUIRES: count <= values.size(). Time O(values), memory 4 bytes for each.
  std::span<const std::size_t> find(std::span<const float> values, std::size_t count) {
    places_.clear();
    if (count == 0) return places_;
    sizes_.resize(values.size());
    std::ranges::transform(values, sizes_.begin(), magnitude);
    const std::uint32_t least = least_kept(count);
    std::size_t larger = 0;
    for (const std::uint32_t size : sizes_) larger += size > least ? 1 : 0;
    std::size_t ties = least == 0 ? 0 : count - larger;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t size = magnitude(values[i]);
      if (size > least || (size == least && ties > 0)) places_.push_back(i);
      if (size == least && ties > 0) --ties;
    }
    return places_;
  }

 private:
  // See CodecLoops. Passes pay while the sizes are in the nearest cache. Reorders the sizes.
  std::uint32_t least_kept(std::size_t rank) {
    constexpr std::size_t kPassesMax = 4096;
    if (sizes_.size() <= kPassesMax) {
      return codec_loops().least_kept(sizes_.data(), sizes_.size(), rank);
    }
    const auto nth = sizes_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(sizes_.begin(), nth, sizes_.end(), std::greater<>());
    return *nth;
  }

  std::vector<std::uint32_t> sizes_;
  std::vector<std::size_t> places_;
};

// Appends numbers of any number of bits; the lowest bit of a byte stands for the first.
class BitWriter {
 public:
  // Borrows `out`, which must outlive this.
  explicit BitWriter(Bytes& out) : out_(out) {}
  // REQUIRES: count <= 32, value < 2^count.
  void put(std::uint32_t value, unsigned count) {
    held_ |= static_cast<std::uint64_t>(value) << held_count_;
    for (held_count_ += count; held_count_ >= 8; held_count_ -= 8, held_ >>= 8U) {
      out_.push_back(static_cast<std::uint8_t>(held_));
    }
  }
  // Fills the last byte with zeros.
  void finish() {
    if (held_count_ > 0) put(0, 8 - held_count_);
  }

 private:
  Bytes& out_;
  std::uint64_t held_ = 0;
  unsigned held_count_ = 0;
};

// Takes numbers out of what BitWriter wrote.
class BitReader {
 public:
  explicit BitReader(ByteSpan bytes) : rest_(bytes) {}
  // Nothing where fewer bits are left. REQUIRES: count <= 32.
  std::optional<std::uint32_t> take(unsigned count) {
    while (held_count_ < count) {
      if (rest_.empty()) return std::nullopt;
      held_ |= static_cast<std::uint64_t>(rest_.front()) << held_count_;
      held_count_ += 8;
      rest_ = rest_.subspan(1);
    }
    const std::uint64_t value = held_ & ((std::uint64_t{1} << count) - 1);
    held_ >>= count;
    held_count_ -= count;
    return static_cast<std::uint32_t>(value);
  }
  // Leaves the byte that is begun. False where its other bits are not zero.
  bool finish_byte() {
    const bool zeros = held_ == 0;
    held_ = 0;
    held_count_ = 0;
    return zeros;
  }
  // The bytes after the one that is begun.
  ByteSpan rest() const { return rest_; }

 private:
  ByteSpan rest_;
  std::uint64_t held_ = 0;
  unsigned held_count_ = 0;
};

// In double, in order.
inline double sum_of_squares(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return squares;
}

}  // namespace weft
