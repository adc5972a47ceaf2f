// Pair: a size for each of the two axes of images, {height, width}, such as a kernel or a stride.
//
//   Conv2dShape{.inputs = 3, .outputs = 8, .kernel = {5, 3}, .padding = 1}  // 1 on both axes
//
// Where it stands: the options of convolutions and poolings, from layers down to kernels.
// Threads: a value.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace weft {

struct Pair {
  // One number applies to both axes. Only whole numbers convert: a fraction does not compile.
  template <std::integral Number>
  constexpr Pair(Number both)  // NOLINT(google-explicit-constructor)
      : height(static_cast<std::int64_t>(both)), width(static_cast<std::int64_t>(both)) {}
  constexpr Pair(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}

  // 0 is the height, 1 the width.
  constexpr std::int64_t operator[](std::size_t axis) const { return axis == 0 ? height : width; }
  constexpr std::int64_t& operator[](std::size_t axis) { return axis == 0 ? height : width; }

  friend constexpr bool operator==(const Pair&, const Pair&) = default;

  std::int64_t height;
  std::int64_t width;
};

}  // namespace weft
