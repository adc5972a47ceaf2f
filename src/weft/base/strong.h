// Strong<Tag, Int>: an integer that is not interchangeable with any other integer.
//
// using Round = Strong<struct RoundTag, std::uint64_t>;  a Round is no Step and no rank.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace weft {

template <class Tag, class Int>
class Strong {
 public:
  using Value = Int;
  constexpr Strong() = default;
  constexpr explicit Strong(Int value) : value_(value) {}
  constexpr Int value() const { return value_; }
  constexpr Strong next() const { return Strong(static_cast<Int>(value_ + 1)); }
  friend constexpr auto operator<=>(Strong, Strong) = default;

 private:
  Int value_ = 0;
};

}  // namespace weft

template <class Tag, class Int>
struct std::hash<weft::Strong<Tag, Int>> {
  std::size_t operator()(weft::Strong<Tag, Int> id) const noexcept {
    return std::hash<Int>()(id.value());
  }
};
