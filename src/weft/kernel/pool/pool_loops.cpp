// The loops of pool_loops.h, compiled once for each instruction set.
#include "weft/kernel/pool/pool_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

constexpr std::int64_t kLanes = kPoolLanes;
// The one of the four bytes of an integer that holds its low bits.
constexpr int kLowByte = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 3;

using Floats [[gnu::vector_size(4 * kPoolLanes)]] = float;
using Integers [[gnu::vector_size(4 * kPoolLanes)]] = std::int32_t;
using Bytes [[gnu::vector_size(kPoolLanes)]] = std::uint8_t;

inline Floats load(const float* from) {
  Floats value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
inline void store(float* to, const Floats& value) { __builtin_memcpy(to, &value, sizeof value); }

// The low bytes of 8 integers of at most 255; a conversion would go through memory.
inline void store_bytes(std::uint8_t* to, const Integers& values) {
  using AllBytes [[gnu::vector_size(4 * kPoolLanes)]] = std::uint8_t;
  const AllBytes all = __builtin_bit_cast(AllBytes, values);
  const Bytes low =
      __builtin_shufflevector(all, all, kLowByte, kLowByte + 4, kLowByte + 8, kLowByte + 12,
                              kLowByte + 16, kLowByte + 20, kLowByte + 24, kLowByte + 28);
  __builtin_memcpy(to, &low, sizeof low);
}

// The sizes of windows, as constants where they are 2x2, which most are.
struct AnyWindow {
  std::int64_t height;
  std::int64_t width;
};
struct SmallWindow {
  static constexpr std::int64_t height = 2;
  static constexpr std::int64_t width = 2;
};
template <class Body>
inline void with_window(const PoolPlane& plane, Body body) {
  if (plane.kernel_height == 2 && plane.kernel_width == 2) {
    body(SmallWindow{});
  } else {
    body(AnyWindow{plane.kernel_height, plane.kernel_width});
  }
}

void max_forward(const PoolPlane& plane, const float* x, float* y, std::uint8_t* winners) {
  const PoolPlane p = plane;
  with_window(p, [&](auto size) {
    for (std::int64_t i = 0; i < p.out_height; ++i) {
      for (std::int64_t j = 0; j < p.out_width; ++j) {
        const float* const window =
            x + (i * p.stride_height * p.in_width + j * p.stride_width) * kLanes;
        Floats best = load(window);
        Integers winner = {};
        std::int32_t position = 0;
#pragma GCC unroll 2
        for (std::int64_t r = 0; r < size.height; ++r) {
          const float* const row = window + r * p.in_width * kLanes;
#pragma GCC unroll 2
          for (std::int64_t c = 0; c < size.width; ++c, ++position) {
            const Floats value = load(row + c * kLanes);
            // A NaN stays, whatever comes after it.
            const Integers wins = (value > best) | (value != value);
            best = wins ? value : best;
            winner = wins ? position - Integers{} : winner;
          }
        }
        const std::int64_t at = (i * p.out_width + j) * kLanes;
        store(y + at, best);
        if (winners != nullptr) store_bytes(winners + at, winner);
      }
    }
  });
}

inline void clear(float* from, const float* end) {
  for (; from < end; from += kLanes) store(from, Floats{});
}

void max_backward(const PoolPlane& plane, const float* dy, const std::uint8_t* winners, float* dx) {
  const PoolPlane p = plane;
  const std::int64_t row_floats = p.in_width * kLanes;
  with_window(p, [&](auto size) {
    for (std::int64_t i = 0; i < p.out_height; ++i) {
      float* const band = dx + i * size.height * row_floats;
      for (std::int64_t j = 0; j < p.out_width; ++j) {
        const std::int64_t at = (i * p.out_width + j) * kLanes;
        const Floats gradient = load(dy + at);
        Bytes bytes;
        __builtin_memcpy(&bytes, winners + at, sizeof bytes);
        const Integers winner = __builtin_convertvector(bytes, Integers);
        std::int32_t position = 0;
#pragma GCC unroll 2
        for (std::int64_t r = 0; r < size.height; ++r) {
          float* const to = band + r * row_floats + j * size.width * kLanes;
#pragma GCC unroll 2
          for (std::int64_t c = 0; c < size.width; ++c, ++position) {
            store(to + c * kLanes, winner == position ? gradient : Floats{});
          }
        }
      }
      for (std::int64_t r = 0; r < size.height; ++r) {
        float* const row = band + r * row_floats;
        clear(row + p.out_width * size.width * kLanes, row + row_floats);
      }
    }
  });
  clear(dx + p.out_height * p.kernel_height * row_floats, dx + p.in_height * row_floats);
}

}  // namespace

extern const PoolLoops WEFT_LOOPS_NAME(pool_loops) = {max_forward, max_backward};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
