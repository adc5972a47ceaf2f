// The loops of pool_loops.h, compiled once for each instruction set.
#include "weft/kernel/pool/pool_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

#include "weft/kernel/core/bf16_lanes.inc"
#include "weft/kernel/core/fetch_ahead.inc"

// The one of the four bytes of an integer that holds its low bits.
constexpr int kLowByte = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 3;

// A pixel: kCount channels.
template <int kCount>
struct Pixel {
  static constexpr std::int64_t kLanes = kCount;
  using Floats [[gnu::vector_size(4 * kCount)]] = float;
  using Integers [[gnu::vector_size(4 * kCount)]] = std::int32_t;
  using Bytes [[gnu::vector_size(kCount)]] = std::uint8_t;
};

template <class Value, class Element>
inline Value load(const Element* from) {
  Value value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
template <class Value, class Element>
inline void store(Element* to, const Value& value) {
  __builtin_memcpy(to, &value, sizeof value);
}

// Channels of a pixel, as floats, of either type. Those of bf16 are selected only, so that they
// stay bf16.
template <class P>
inline typename P::Floats load_floats(const float* from) {
  return load<typename P::Floats>(from);
}
template <class P>
inline typename P::Floats load_floats(const std::uint16_t* from) {
  typename P::Floats value;
  load_bf16<P::kLanes>(from, value);
  return value;
}
template <class P>
inline void store_floats(float* to, const typename P::Floats& value) {
  store(to, value);
}
template <class P>
inline void store_floats(std::uint16_t* to, const typename P::Floats& value) {
  store_exact_bf16<P::kLanes>(to, value);
}

// The low bytes of integers of at most 255; a conversion would go through memory.
template <class P>
inline void store_bytes(std::uint8_t* to, const typename P::Integers& values) {
  using EightIntegers [[gnu::vector_size(32)]] = std::int32_t;
  using AllBytes [[gnu::vector_size(32)]] = std::uint8_t;
  for (int part = 0; part < P::kLanes / 8; ++part) {
    EightIntegers eight;
    __builtin_memcpy(&eight, reinterpret_cast<const char*>(&values) + part * sizeof eight,
                     sizeof eight);
    const AllBytes all = __builtin_bit_cast(AllBytes, eight);
    const typename Pixel<8>::Bytes low =
        __builtin_shufflevector(all, all, kLowByte, kLowByte + 4, kLowByte + 8, kLowByte + 12,
                                kLowByte + 16, kLowByte + 20, kLowByte + 24, kLowByte + 28);
    store(to + part * 8, low);
  }
}

// The sizes of windows and strides, as constants where they are 2x2, which most are.
struct AnyWindow {
  std::int64_t height;
  std::int64_t width;
  std::int64_t stride_width;
  static constexpr bool kPadded = true;
};
struct SmallWindow {
  std::int64_t ahead;  // bytes, of what is fetched while a pixel is read
  static constexpr std::int64_t height = 2;
  static constexpr std::int64_t width = 2;
  static constexpr std::int64_t stride_width = 2;
  static constexpr bool kPadded = false;
};
template <class Body>
inline void with_window(const PoolPlane& plane, Body body) {
  const bool padded = plane.padding_top > 0 || plane.padding_left > 0;
  if (plane.kernel_height == 2 && plane.kernel_width == 2 && plane.stride_width == 2 && !padded) {
    // Behind some rows of a plane lies what another thread writes: it would have to get that back.
    const bool whole = plane.out_begin == 0 && plane.out_end == plane.out_height;
    body(SmallWindow{whole ? kPageBytes : 0});
  } else {
    body(AnyWindow{plane.kernel_height, plane.kernel_width, plane.stride_width});
  }
}
template <class Body>
inline void with_pixel(const PoolPlane& plane, Body body) {
  if (plane.lanes == 8) {
    body(Pixel<8>());
  } else {
    body(Pixel<16>());
  }
}

// The part of a window along one axis that is inside the plane, from the window's own start.
struct Inside {
  std::int64_t begin;
  std::int64_t end;
};
inline Inside inside(std::int64_t first, std::int64_t size, std::int64_t extent) {
  return {first < 0 ? -first : 0, first + size > extent ? extent - first : size};
}

// Where a window begins, perhaps outside of the plane.
struct WindowStart {
  std::int64_t row;
  std::int64_t column;
};

// The largest pixel of a window.
template <class P, class Size, class T>
inline void max_of_window(const PoolPlane& p, const Size& size, const WindowStart& start,
                          const T* x, T* y, std::uint8_t* winners) {
  constexpr std::int64_t kLanes = P::kLanes;
  const T* const window = x + (start.row * p.in_width + start.column) * kLanes;
  Inside rows{0, size.height};
  Inside columns{0, size.width};
  if constexpr (Size::kPadded) {
    rows = inside(start.row, size.height, p.in_height);
    columns = inside(start.column, size.width, p.in_width);
  }
  const std::int64_t first = rows.begin * p.in_width + columns.begin;
  auto best = load_floats<P>(window + first * kLanes);
  typename P::Integers winner = {};
  winner += static_cast<std::int32_t>(rows.begin * size.width + columns.begin);
#pragma GCC unroll 2
  for (std::int64_t r = rows.begin; r < rows.end; ++r) {
    const T* const row = window + r * p.in_width * kLanes;
    auto position = static_cast<std::int32_t>(r * size.width + columns.begin);
#pragma GCC unroll 2
    for (std::int64_t c = columns.begin; c < columns.end; ++c, ++position) {
      const auto value = load_floats<P>(row + c * kLanes);
      if constexpr (!Size::kPadded) fetch_ahead(row + c * kLanes, size.ahead);
      // A NaN stays, whatever comes after it.
      const typename P::Integers wins = (value > best) | (value != value);
      best = wins ? value : best;
      winner = wins ? position - typename P::Integers{} : winner;
    }
  }
  store_floats<P>(y, best);
  if (winners != nullptr) store_bytes<P>(winners, winner);
}

template <class T>
void max_forward(const PoolPlane& plane, const T* x, T* y, std::uint8_t* winners) {
  const PoolPlane p = plane;
  with_pixel(p, [&](auto pixel) {
    using P = decltype(pixel);
    with_window(p, [&](auto size) {
      std::int64_t at = p.out_begin * p.out_width * P::kLanes;
      for (std::int64_t i = p.out_begin; i < p.out_end; ++i) {
        const std::int64_t top = i * p.stride_height - p.padding_top;
        for (std::int64_t j = 0; j < p.out_width; ++j, at += P::kLanes) {
          const WindowStart start{top, j * size.stride_width - p.padding_left};
          max_of_window<P>(p, size, start, x, y + at, winners == nullptr ? nullptr : winners + at);
        }
      }
    });
  });
}

template <class P, class T>
inline void clear(T* from, const T* end) {
  for (; from < end; from += P::kLanes) store_floats<P>(from, typename P::Floats{});
}

template <class P, class Size, class T>
inline void max_backward_of(const PoolPlane& p, const Size& size, const T* dy,
                            const std::uint8_t* winners, T* dx) {
  constexpr std::int64_t kLanes = P::kLanes;
  using Floats = typename P::Floats;
  const std::int64_t row_values = p.in_width * kLanes;
  for (std::int64_t i = 0; i < p.out_height; ++i) {
    T* const band = dx + i * size.height * row_values;
    for (std::int64_t j = 0; j < p.out_width; ++j) {
      const std::int64_t at = (i * p.out_width + j) * kLanes;
      const auto gradient = load_floats<P>(dy + at);
      const auto winner =
          __builtin_convertvector(load<typename P::Bytes>(winners + at), typename P::Integers);
      std::int32_t position = 0;
#pragma GCC unroll 2
      for (std::int64_t r = 0; r < size.height; ++r) {
        T* const to = band + r * row_values + j * size.width * kLanes;
#pragma GCC unroll 2
        for (std::int64_t c = 0; c < size.width; ++c, ++position) {
          store_floats<P>(to + c * kLanes, winner == position ? gradient : Floats{});
          fetch_ahead_to_write(to + c * kLanes);
        }
      }
    }
    for (std::int64_t r = 0; r < size.height; ++r) {
      T* const row = band + r * row_values;
      clear<P>(row + p.out_width * size.width * kLanes, row + row_values);
    }
  }
}

template <class T>
void max_backward(const PoolPlane& plane, const T* dy, const std::uint8_t* winners, T* dx) {
  const PoolPlane p = plane;
  with_pixel(p, [&](auto pixel) {
    using P = decltype(pixel);
    with_window(p, [&](auto size) { max_backward_of<P>(p, size, dy, winners, dx); });
    clear<P>(dx + p.out_height * p.kernel_height * p.in_width * P::kLanes,
             dx + p.in_height * p.in_width * P::kLanes);
  });
}

// Pixels of one channel: a row of sums at a time.
template <class Size>
inline void avg_row(const PoolPlane& p, const Size& size, const float* window, float* y,
                    float share) {
  for (std::int64_t j = 0; j < p.out_width; ++j) y[j] = 0.0F;
  for (std::int64_t r = 0; r < size.height; ++r) {
    const float* const row = window + r * p.in_width;
    for (std::int64_t c = 0; c < size.width; ++c) {
      for (std::int64_t j = 0; j < p.out_width; ++j) y[j] += row[j * size.stride_width + c];
    }
  }
  for (std::int64_t j = 0; j < p.out_width; ++j) y[j] *= share;
}
// A window of two by two is summed in one pass.
inline void avg_row(const PoolPlane& p, const SmallWindow&, const float* window, float* y,
                    float share) {
  const float* const below = window + p.in_width;
  for (std::int64_t j = 0; j < p.out_width; ++j) {
    const float sum = 0.0F + window[2 * j] + window[2 * j + 1] + below[2 * j] + below[2 * j + 1];
    y[j] = sum * share;
  }
}

template <class P, class Size>
inline void avg_pixels(const PoolPlane& p, const Size& size, const float* window, float* y,
                       float share) {
  constexpr std::int64_t kLanes = P::kLanes;
  for (std::int64_t j = 0; j < p.out_width; ++j) {
    typename P::Floats sum = {};
#pragma GCC unroll 2
    for (std::int64_t r = 0; r < size.height; ++r) {
      const float* const row = window + (r * p.in_width + j * size.stride_width) * kLanes;
#pragma GCC unroll 2
      for (std::int64_t c = 0; c < size.width; ++c) {
        sum += load<typename P::Floats>(row + c * kLanes);
      }
    }
    store(y + j * kLanes, sum * share);
  }
}

void avg_forward(const PoolPlane& plane, const float* x, float* y, float share) {
  const PoolPlane p = plane;
  with_window(p, [&](auto size) {
    for (std::int64_t i = p.out_begin; i < p.out_end; ++i) {
      const float* const window = x + i * p.stride_height * p.in_width * p.lanes;
      float* const to = y + i * p.out_width * p.lanes;
      if (p.lanes == 1) {
        avg_row(p, size, window, to, share);
      } else {
        with_pixel(p, [&](auto pixel) { avg_pixels<decltype(pixel)>(p, size, window, to, share); });
      }
    }
  });
}

}  // namespace

extern const PoolLoops WEFT_LOOPS_NAME(pool_loops) = {
    {max_forward<float>, max_backward<float>},
    {max_forward<std::uint16_t>, max_backward<std::uint16_t>},
    avg_forward};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
