#include "weft/kernel/pool/pool.h"

#include <algorithm>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/pool/pool_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

namespace weft {
namespace {

// One image of one block of channels: rows of pixels of kLanes values.
struct Plane {
  std::int64_t height;
  std::int64_t width;
};

// The part of a window along one axis that lies on the image.
struct PoolSpan {
  std::int64_t begin;   // first position on the image
  std::int64_t end;     // behind the last
  std::int64_t offset;  // of `begin` in the window
};

PoolSpan window(std::int64_t output, std::int64_t extent, std::size_t axis,
                const Pool2dGeometry& geometry) {
  const std::int64_t first = output * geometry.stride[axis] - geometry.padding[axis];
  const std::int64_t begin = std::max<std::int64_t>(first, 0);
  return {begin, std::min(first + geometry.kernel[axis], extent), begin - first};
}

// How many values the mean of a window is over.
std::int64_t values_in(const PoolSpan& span, std::int64_t extent, std::size_t axis,
                       const Pool2dGeometry& geometry) {
  if (!geometry.count_include_pad) return span.end - span.begin;
  const std::int64_t first = span.begin - span.offset;
  return std::min(first + geometry.kernel[axis], extent + geometry.padding[axis]) - first;
}

template <class T>
T share_of(const PoolSpan& rows, const PoolSpan& columns, const Plane& in,
           const Pool2dGeometry& geometry) {
  return T{1} / static_cast<T>(values_in(rows, in.height, 0, geometry) *
                               values_in(columns, in.width, 1, geometry));
}

// Calls body(index of the output's pixel, rows, columns) for every window of a plane.
template <class Body>
void for_each_window(const Plane& in, const Plane& out, const Pool2dGeometry& geometry, Body body) {
  for (std::int64_t i = 0; i < out.height; ++i) {
    const PoolSpan rows = window(i, in.height, 0, geometry);
    for (std::int64_t j = 0; j < out.width; ++j) {
      body(i * out.width + j, rows, window(j, in.width, 1, geometry));
    }
  }
}

// The largest values so far of one window, and where in the window they were.
template <class T, int kLanes, class Index>
struct Best {
  T values[kLanes];
  Index winners[kLanes] = {};
  bool empty = true;

  void take(const T* from, Index position) {
    for (int lane = 0; lane < kLanes; ++lane) {
      // A NaN stays, whatever comes after it.
      const bool wins = empty || from[lane] > values[lane] || from[lane] != from[lane];
      values[lane] = wins ? from[lane] : values[lane];
      winners[lane] = wins ? position : winners[lane];
    }
    empty = false;
  }
};

template <class T, int kLanes, class Index>
struct MaxForward {
  Plane in;
  Plane out;
  const Pool2dGeometry& geometry;

  void operator()(const T* x, T* y, Index* winners) const {
    for_each_window(
        in, out, geometry, [&](std::int64_t at, const PoolSpan& rows, const PoolSpan& columns) {
          Best<T, kLanes, Index> best{};
          for (std::int64_t r = rows.begin; r < rows.end; ++r) {
            const std::int64_t row = (r - rows.begin + rows.offset) * geometry.kernel[1];
            for (std::int64_t c = columns.begin; c < columns.end; ++c) {
              best.take(x + (r * in.width + c) * kLanes,
                        static_cast<Index>(row + c - columns.begin + columns.offset));
            }
          }
          std::copy_n(best.values, kLanes, y + at * kLanes);
          if (winners != nullptr) std::copy_n(best.winners, kLanes, winners + at * kLanes);
        });
  }
};

template <class T, int kLanes, class Index>
struct MaxBackward {
  Plane in;
  Plane out;
  const Pool2dGeometry& geometry;

  void operator()(const T* dy, const Index* winners, T* dx) const {
    std::fill_n(dx, in.height * in.width * kLanes, T{0});
    for (std::int64_t i = 0; i < out.height; ++i) {
      for (std::int64_t j = 0; j < out.width; ++j) {
        const std::int64_t at = (i * out.width + j) * kLanes;
        const std::int64_t row = i * geometry.stride[0] - geometry.padding[0];
        const std::int64_t column = j * geometry.stride[1] - geometry.padding[1];
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto winner = static_cast<std::int64_t>(winners[at + lane]);
          const std::int64_t r = row + winner / geometry.kernel[1];
          const std::int64_t c = column + winner % geometry.kernel[1];
          dx[(r * in.width + c) * kLanes + lane] += dy[at + lane];
        }
      }
    }
  }
};

// The transpose of MaxBackward: what dx has where each window's largest value was.
template <class T, int kLanes, class Index>
struct MaxTake {
  Plane in;
  Plane out;
  const Pool2dGeometry& geometry;

  void operator()(const T* dx, const Index* winners, T* dy) const {
    for (std::int64_t i = 0; i < out.height; ++i) {
      for (std::int64_t j = 0; j < out.width; ++j) {
        const std::int64_t at = (i * out.width + j) * kLanes;
        for (int lane = 0; lane < kLanes; ++lane) {
          const auto winner = static_cast<std::int64_t>(winners[at + lane]);
          const std::int64_t r =
              i * geometry.stride[0] - geometry.padding[0] + winner / geometry.kernel[1];
          const std::int64_t c =
              j * geometry.stride[1] - geometry.padding[1] + winner % geometry.kernel[1];
          dy[at + lane] = dx[(r * in.width + c) * kLanes + lane];
        }
      }
    }
  }
};

template <class T, int kLanes>
struct AvgForward {
  Plane in;
  Plane out;
  const Pool2dGeometry& geometry;

  void operator()(const T* x, T* y) const {
    for_each_window(in, out, geometry,
                    [&](std::int64_t at, const PoolSpan& rows, const PoolSpan& columns) {
                      const T share = share_of<T>(rows, columns, in, geometry);
                      T sum[kLanes] = {};
                      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
                        for (std::int64_t c = columns.begin; c < columns.end; ++c) {
                          const T* const from = x + (r * in.width + c) * kLanes;
                          for (int lane = 0; lane < kLanes; ++lane) sum[lane] += from[lane];
                        }
                      }
                      for (int lane = 0; lane < kLanes; ++lane)
                        y[at * kLanes + lane] = sum[lane] * share;
                    });
  }
};

template <class T, int kLanes>
struct AvgBackward {
  Plane in;
  Plane out;
  const Pool2dGeometry& geometry;

  void operator()(const T* dy, T* dx) const {
    std::fill_n(dx, in.height * in.width * kLanes, T{0});
    for_each_window(in, out, geometry,
                    [&](std::int64_t at, const PoolSpan& rows, const PoolSpan& columns) {
                      const T share = share_of<T>(rows, columns, in, geometry);
                      T each[kLanes];
                      for (int lane = 0; lane < kLanes; ++lane)
                        each[lane] = dy[at * kLanes + lane] * share;
                      for (std::int64_t r = rows.begin; r < rows.end; ++r) {
                        for (std::int64_t c = columns.begin; c < columns.end; ++c) {
                          T* const to = dx + (r * in.width + c) * kLanes;
                          for (int lane = 0; lane < kLanes; ++lane) to[lane] += each[lane];
                        }
                      }
                    });
  }
};

struct PoolPlanes {
  Plane in;
  Plane out;
  std::int64_t count;
  std::int64_t in_size() const { return in.height * in.width; }
  std::int64_t out_size() const { return out.height * out.width; }
};

PoolPlanes planes_of(const Shape& x, const Shape& y, std::int64_t block) {
  const std::int64_t blocks = (x[1] + block - 1) / block;
  return {{x[2], x[3]}, {y[2], y[3]}, x[0] * blocks};
}

template <class Body>
void for_each_pool_plane(const PoolPlanes& planes, Body body) {
  const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(1, planes.in_size());
  parallel_for(planes.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

// Calls body with a value of the type and the number of lanes as a constant.
template <class Body>
void with_lanes(DType dtype, std::int64_t block, Body body) {
  if (dtype == DType::kF64) {
    body(double{}, std::integral_constant<int, 1>());
  } else if (block == 8) {
    body(float{}, std::integral_constant<int, 8>());
  } else if (block == 16) {
    body(float{}, std::integral_constant<int, 16>());
  } else {
    body(float{}, std::integral_constant<int, 1>());
  }
}

// `array` contiguous or in blocks of 8 or 16 channels.
Array in_lanes(const Array& array) {
  if (array.is_strided()) return array.contiguous();
  const std::int64_t block = channel_block(array);
  return block == 8 || block == 16 ? array : array.strided();
}

bool small_window(const Pool2dGeometry& geometry) {
  return geometry.kernel[0] * geometry.kernel[1] <= 256;
}

PoolPlane pool_plane(const PoolPlanes& planes, std::int64_t lanes, const Pool2dGeometry& g) {
  return {lanes,       planes.in.height, planes.in.width, planes.out.height, planes.out.width,
          g.kernel[0], g.kernel[1],      g.stride[0],     g.stride[1],       g.padding[0],
          g.padding[1]};
}

bool is_padded(const Pool2dGeometry& geometry) {
  return geometry.padding[0] > 0 || geometry.padding[1] > 0 || geometry.ceil_mode;
}

// Whether the loops of pool_loops.h do it.
bool has_pixels(std::int64_t block, const Pool2dGeometry& geometry) {
  return (block == 8 || block == 16) && small_window(geometry) && !geometry.ceil_mode;
}

template <class T>
T* values(const Array& array) {
  return static_cast<T*>(array.raw_data());
}

void max_forward(const Array& x, const Pool2dGeometry& geometry, Array& y, Array& winners) {
  const std::int64_t block = channel_block(x);
  const PoolPlanes planes = planes_of(x.shape(), y.shape(), block);
  const bool with_winners = winners.defined();
  if (has_pixels(block, geometry)) {
    for_each_pool_plane(planes, [&](std::int64_t plane) {
      const std::int64_t at = plane * planes.out_size() * block;
      pool_loops().max_forward(
          pool_plane(planes, block, geometry), values<float>(x) + plane * planes.in_size() * block,
          values<float>(y) + at, with_winners ? values<std::uint8_t>(winners) + at : nullptr);
    });
    return;
  }
  with_lanes(x.dtype(), block, [&](auto zero, auto lanes) {
    using T = decltype(zero);
    constexpr int kLanes = decltype(lanes)::value;
    const auto run = [&](auto index) {
      using Index = decltype(index);
      const MaxForward<T, kLanes, Index> pool{planes.in, planes.out, geometry};
      for_each_pool_plane(planes, [&](std::int64_t plane) {
        const std::int64_t at = plane * planes.out_size() * kLanes;
        pool(values<T>(x) + plane * planes.in_size() * kLanes, values<T>(y) + at,
             with_winners ? values<Index>(winners) + at : nullptr);
      });
    };
    if (small_window(geometry)) {
      run(std::uint8_t{});
    } else {
      run(std::int64_t{});
    }
  });
}

void max_backward(const Array& dy, const Array& winners, const Pool2dGeometry& geometry,
                  Array& dx) {
  const std::int64_t block = channel_block(dy);
  const PoolPlanes planes = planes_of(dx.shape(), dy.shape(), block);
  if (has_pixels(block, geometry) && !is_padded(geometry) && geometry.stride == geometry.kernel) {
    for_each_pool_plane(planes, [&](std::int64_t plane) {
      const std::int64_t at = plane * planes.out_size() * block;
      pool_loops().max_backward(pool_plane(planes, block, geometry), values<float>(dy) + at,
                                values<std::uint8_t>(winners) + at,
                                values<float>(dx) + plane * planes.in_size() * block);
    });
    return;
  }
  with_lanes(dy.dtype(), block, [&](auto zero, auto lanes) {
    using T = decltype(zero);
    constexpr int kLanes = decltype(lanes)::value;
    const auto run = [&](auto index) {
      using Index = decltype(index);
      const MaxBackward<T, kLanes, Index> pool{planes.in, planes.out, geometry};
      for_each_pool_plane(planes, [&](std::int64_t plane) {
        const std::int64_t at = plane * planes.out_size() * kLanes;
        pool(values<T>(dy) + at, values<Index>(winners) + at,
             values<T>(dx) + plane * planes.in_size() * kLanes);
      });
    };
    if (winners.dtype() == DType::kU8) {
      run(std::uint8_t{});
    } else {
      run(std::int64_t{});
    }
  });
}

void max_take(const Array& dx, const Array& winners, const Pool2dGeometry& geometry, Array& dy) {
  const std::int64_t block = channel_block(dy);
  const PoolPlanes planes = planes_of(dx.shape(), dy.shape(), block);
  with_lanes(dy.dtype(), block, [&](auto zero, auto lanes) {
    using T = decltype(zero);
    constexpr int kLanes = decltype(lanes)::value;
    const auto run = [&](auto index) {
      using Index = decltype(index);
      const MaxTake<T, kLanes, Index> take{planes.in, planes.out, geometry};
      for_each_pool_plane(planes, [&](std::int64_t plane) {
        const std::int64_t at = plane * planes.out_size() * kLanes;
        take(values<T>(dx) + plane * planes.in_size() * kLanes, values<Index>(winners) + at,
             values<T>(dy) + at);
      });
    };
    if (winners.dtype() == DType::kU8) {
      run(std::uint8_t{});
    } else {
      run(std::int64_t{});
    }
  });
}

void avg_forward(const Array& x, const Pool2dGeometry& geometry, Array& y) {
  const std::int64_t block = channel_block(x);
  const PoolPlanes planes = planes_of(x.shape(), y.shape(), block);
  if (x.dtype() == DType::kF32 && !is_padded(geometry)) {
    const float share = 1.0F / static_cast<float>(geometry.kernel[0] * geometry.kernel[1]);
    for_each_pool_plane(planes, [&](std::int64_t plane) {
      pool_loops().avg_forward(pool_plane(planes, block, geometry),
                               values<float>(x) + plane * planes.in_size() * block,
                               values<float>(y) + plane * planes.out_size() * block, share);
    });
    return;
  }
  with_lanes(x.dtype(), block, [&](auto zero, auto lanes) {
    using T = decltype(zero);
    constexpr int kLanes = decltype(lanes)::value;
    const AvgForward<T, kLanes> pool{planes.in, planes.out, geometry};
    for_each_pool_plane(planes, [&](std::int64_t plane) {
      pool(values<T>(x) + plane * planes.in_size() * kLanes,
           values<T>(y) + plane * planes.out_size() * kLanes);
    });
  });
}

void avg_backward(const Array& dy, const Pool2dGeometry& geometry, Array& dx) {
  const std::int64_t block = channel_block(dy);
  const PoolPlanes planes = planes_of(dx.shape(), dy.shape(), block);
  with_lanes(dy.dtype(), block, [&](auto zero, auto lanes) {
    using T = decltype(zero);
    constexpr int kLanes = decltype(lanes)::value;
    const AvgBackward<T, kLanes> pool{planes.in, planes.out, geometry};
    for_each_pool_plane(planes, [&](std::int64_t plane) {
      pool(values<T>(dy) + plane * planes.out_size() * kLanes,
           values<T>(dx) + plane * planes.in_size() * kLanes);
    });
  });
}

// A new array of `shape` in the type and channel order of `array`.
Array same_order(const Array& array, const Shape& shape) {
  return array.dtype() == DType::kF64 ? Array::empty(shape, DType::kF64, array.device())
                                      : like_with_shape(array, shape);
}

}  // namespace

Shape pool2d_shape(const Shape& x, const Pool2dGeometry& geometry) {
  Shape shape = x;
  for (int axis = 0; axis < 2; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    const std::int64_t room = x[2 + axis] + 2 * geometry.padding[i] - geometry.kernel[i];
    shape[2 + axis] = room / geometry.stride[i] + 1;
    const std::int64_t next = shape[2 + axis] * geometry.stride[i];
    if (geometry.ceil_mode && next - geometry.stride[i] < room &&
        next < x[2 + axis] + geometry.padding[i]) {
      ++shape[2 + axis];
    }
  }
  return shape;
}

MaxPoolOutput max_pool2d_forward(const Array& given, const Pool2dGeometry& geometry,
                                 bool with_winners) {
  const Array x = in_lanes(given);
  const std::int64_t block = channel_block(x);
  const Shape shape = pool2d_shape(x.shape(), geometry);
  MaxPoolOutput result{same_order(x, shape), {}};
  if (with_winners) {
    const PoolPlanes planes = planes_of(x.shape(), shape, block);
    result.winners = Array::empty({planes.count, planes.out_size(), block},
                                  small_window(geometry) ? DType::kU8 : DType::kI64, x.device());
  }
  launch("max_pool2d", {&x}, {&result.y, &result.winners},
         [geometry](LaunchArrays in, LaunchArrays out) {
           max_forward(in[0], geometry, out[0], out[1]);
         });
  return result;
}

Array max_pool2d_backward(const Array& given, const MaxPoolOutput& forward, const Shape& x_shape,
                          const Pool2dGeometry& geometry) {
  const Array dy =
      given.dtype() == DType::kF64 ? given.contiguous() : in_order_of(given, forward.y);
  Array dx = same_order(dy, x_shape);
  launch("max_pool2d_backward", {&dy, &forward.winners}, {&dx},
         [geometry](LaunchArrays in, LaunchArrays out) {
           max_backward(in[0], in[1], geometry, out[0]);
         });
  return dx;
}

Array max_pool2d_take(const Array& given, const MaxPoolOutput& forward,
                      const Pool2dGeometry& geometry) {
  // The lanes of the winners.
  const Array model = same_order(forward.y, given.shape());
  const Array dx = given.dtype() == DType::kF64 ? given.contiguous() : in_order_of(given, model);
  Array dy = same_order(forward.y, forward.y.shape());
  launch(
      "max_pool2d_take", {&dx, &forward.winners}, {&dy},
      [geometry](LaunchArrays in, LaunchArrays out) { max_take(in[0], in[1], geometry, out[0]); });
  return dy;
}

Array avg_pool2d_forward(const Array& given, const Pool2dGeometry& geometry) {
  const Array x = in_lanes(given);
  Array y = same_order(x, pool2d_shape(x.shape(), geometry));
  launch("avg_pool2d", {&x}, {&y},
         [geometry](LaunchArrays in, LaunchArrays out) { avg_forward(in[0], geometry, out[0]); });
  return y;
}

Array avg_pool2d_backward(const Array& given, const Shape& x_shape,
                          const Pool2dGeometry& geometry) {
  const Array dy = in_lanes(given);
  Array dx = same_order(dy, x_shape);
  launch("avg_pool2d_backward", {&dy}, {&dx},
         [geometry](LaunchArrays in, LaunchArrays out) { avg_backward(in[0], geometry, out[0]); });
  return dx;
}

}  // namespace weft
