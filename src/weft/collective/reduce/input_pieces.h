// InputPieces: one member's input, contributed in ranges that need not match the segments.
//
// Threads: one owner. Fails: never; a range outside the vector or given twice is a bug.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "weft/base/bytes.h"

namespace weft {

class InputPieces {
 public:
  explicit InputPieces(std::int64_t elements) : elements_(elements) {}

  // Borrows `values`.
  void add(std::int64_t offset, std::span<const float> values);
  bool whole() const { return covered_ == elements_; }

  // out = the elements from `offset`. REQUIRES: they were added.
  void copy(std::int64_t offset, std::span<float> out) const;
  // out = received + the elements from `offset`; `received` holds f32 values at any alignment and
  // may be the bytes of `out` itself.
  void sum(std::int64_t offset, ByteSpan received, std::span<float> out) const;

 private:
  template <class Use>
  void for_each_piece(std::int64_t offset, std::size_t size, Use&& use) const;

  std::int64_t elements_;
  std::int64_t covered_ = 0;
  std::map<std::int64_t, std::span<const float>> pieces_;
};

// out[i] = bytes[i] + values[i], where `bytes` holds f32 values at any alignment and may be the
// bytes of `out`.
void add_floats(const std::uint8_t* bytes, const float* values, float* out, std::size_t size);

}  // namespace weft
