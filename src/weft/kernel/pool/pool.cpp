#include "weft/kernel/pool/pool.h"

#include <algorithm>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/pool/pool_loops.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#include "weft/kernel/pool/pool_windows.h"

namespace weft {
namespace {

using namespace pool_windows;  // NOLINT(google-build-using-namespace)

struct PoolPlanes {
  Plane in;
  Plane out;
  std::int64_t blocks;  // of channels, each a plane of every image
  std::int64_t count;
  std::int64_t in_size() const { return in.height * in.width; }
  std::int64_t out_size() const { return out.height * out.width; }
};

PoolPlanes planes_of(const Shape& x, const Shape& y, std::int64_t block) {
  const std::int64_t blocks = (x[1] + block - 1) / block;
  return {{x[2], x[3]}, {y[2], y[3]}, blocks, x[0] * blocks};
}

template <class Body>
void for_each_pool_plane(const PoolPlanes& planes, Body body) {
  const std::int64_t grain = 1 + 16384 / std::max<std::int64_t>(1, planes.in_size());
  parallel_for(planes.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

// Calls body(plane, first row, behind the last) for rows of results that cover all planes. A thread
// has the same rows of all blocks of an image, as in a convolution, whose results it then finds in
// its own cache; the next convolution takes them over likewise.
template <class Body>
void for_each_pool_band(const PoolPlanes& planes, std::int64_t lanes, Body body) {
  constexpr std::int64_t kGrainValues = 16 * 1024;
  const std::int64_t height = planes.out.height;
  const std::int64_t row_values =
      planes.blocks * lanes * planes.in_size() / std::max<std::int64_t>(1, height);
  const std::int64_t grain = 1 + kGrainValues / std::max<std::int64_t>(1, row_values);
  const std::int64_t rows = planes.count / std::max<std::int64_t>(1, planes.blocks) * height;
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t image = begin / height;
      const std::int64_t first = begin - image * height;
      const std::int64_t last = std::min(end - image * height, height);
      for (std::int64_t block = 0; block < planes.blocks; ++block) {
        body(image * planes.blocks + block, first, last);
      }
      begin = image * height + last;
    }
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
  return {lanes,
          planes.in.height,
          planes.in.width,
          planes.out.height,
          planes.out.width,
          g.kernel[0],
          g.kernel[1],
          g.stride[0],
          g.stride[1],
          g.padding[0],
          g.padding[1],
          0,
          planes.out.height};
}

// Its rows [begin, end).
PoolPlane pool_band(PoolPlane plane, std::int64_t begin, std::int64_t end) {
  plane.out_begin = begin;
  plane.out_end = end;
  return plane;
}

bool is_padded(const Pool2dGeometry& geometry) {
  return geometry.padding[0] > 0 || geometry.padding[1] > 0 || geometry.ceil_mode;
}

// Whether the loops of pool_loops.h do it.
bool has_pixels(std::int64_t block, const Pool2dGeometry& geometry) {
  return (block == 8 || block == 16) && small_window(geometry) && !geometry.ceil_mode;
}

// Windows side by side, whose gradients the loops of pool_loops.h put in place, too.
bool has_tiles(std::int64_t block, const Pool2dGeometry& geometry) {
  return has_pixels(block, geometry) && !is_padded(geometry) && geometry.stride == geometry.kernel;
}

template <class T>
T* values(const Array& array) {
  return static_cast<T*>(array.raw_data());
}

template <class T>
void max_of_pixels(const MaxPoolLoops<T>& loops, const Array& x, const Pool2dGeometry& geometry,
                   Array& y, Array& winners) {
  const std::int64_t block = channel_block(x);
  const PoolPlanes planes = planes_of(x.shape(), y.shape(), block);
  const PoolPlane whole = pool_plane(planes, block, geometry);
  for_each_pool_band(planes, block, [&](std::int64_t plane, std::int64_t begin, std::int64_t end) {
    const std::int64_t at = plane * planes.out_size() * block;
    loops.forward(pool_band(whole, begin, end), values<T>(x) + plane * planes.in_size() * block,
                  values<T>(y) + at,
                  winners.defined() ? values<std::uint8_t>(winners) + at : nullptr);
  });
}

template <class T>
void max_gradient_of_tiles(const MaxPoolLoops<T>& loops, const Array& dy, const Array& winners,
                           const Pool2dGeometry& geometry, Array& dx) {
  const std::int64_t block = channel_block(dy);
  const PoolPlanes planes = planes_of(dx.shape(), dy.shape(), block);
  for_each_pool_plane(planes, [&](std::int64_t plane) {
    const std::int64_t at = plane * planes.out_size() * block;
    loops.backward(pool_plane(planes, block, geometry), values<T>(dy) + at,
                   values<std::uint8_t>(winners) + at,
                   values<T>(dx) + plane * planes.in_size() * block);
  });
}

void max_forward(const Array& x, const Pool2dGeometry& geometry, Array& y, Array& winners) {
  const std::int64_t block = channel_block(x);
  if (has_pixels(block, geometry)) {
    const PoolLoops& loops = pool_loops();
    x.dtype() == DType::kBF16 ? max_of_pixels(loops.max_of_bf16, x, geometry, y, winners)
                              : max_of_pixels(loops.max, x, geometry, y, winners);
    return;
  }
  const PoolPlanes planes = planes_of(x.shape(), y.shape(), block);
  const bool with_winners = winners.defined();
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
  if (has_tiles(block, geometry)) {
    const PoolLoops& loops = pool_loops();
    dy.dtype() == DType::kBF16 ? max_gradient_of_tiles(loops.max_of_bf16, dy, winners, geometry, dx)
                               : max_gradient_of_tiles(loops.max, dy, winners, geometry, dx);
    return;
  }
  const PoolPlanes planes = planes_of(dx.shape(), dy.shape(), block);
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
    const PoolPlane whole = pool_plane(planes, block, geometry);
    for_each_pool_band(
        planes, block, [&](std::int64_t plane, std::int64_t begin, std::int64_t end) {
          pool_loops().avg_forward(pool_band(whole, begin, end),
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

bool max_pool2d_takes_bf16(const Array& x, const Pool2dGeometry& geometry) {
  return has_tiles(channel_block(x), geometry);
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
