// PieceRange: the indexes of a part that nobody has begun. Its thread takes pieces from the front,
// threads that are done with their own from the back.
//
// Threads: set() while no other thread takes; take_front() and take_back() any, without a lock. The
// range only shrinks, so no piece is taken twice.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace weft::internal {

class PieceRange {
 public:
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool empty() const { return begin >= end; }
  };

  void set(Piece all) { range_.store(packed(all), std::memory_order_relaxed); }

  // A quarter of what is left, from 1 to `most` indexes: the last pieces are small, so that threads
  // end together. Empty where nothing is left.
  Piece take_front(std::uint32_t most) {
    return take(most, [](Piece& left, std::uint32_t count) {
      left.begin += count;
      return Piece{left.begin - count, left.begin};
    });
  }
  Piece take_back(std::uint32_t most) {
    return take(most, [](Piece& left, std::uint32_t count) {
      left.end -= count;
      return Piece{left.end, left.end + count};
    });
  }

 private:
  static std::uint64_t packed(Piece piece) {
    return std::uint64_t{piece.begin} << 32U | std::uint64_t{piece.end};
  }
  static Piece unpacked(std::uint64_t range) {
    return {static_cast<std::uint32_t>(range >> 32U), static_cast<std::uint32_t>(range)};
  }

  template <class Cut>
  Piece take(std::uint32_t most, const Cut& cut) {
    std::uint64_t seen = range_.load(std::memory_order_relaxed);
    for (;;) {
      Piece left = unpacked(seen);
      if (left.empty()) return {};
      const Piece taken =
          cut(left, std::clamp((left.end - left.begin) / 4, 1U, std::max(most, 1U)));
      if (range_.compare_exchange_weak(seen, packed(left), std::memory_order_relaxed)) return taken;
    }
  }

  // In a line of its own: of other cores only those that are done with their part look at it.
  alignas(64) std::atomic<std::uint64_t> range_{0};
};

}  // namespace weft::internal
