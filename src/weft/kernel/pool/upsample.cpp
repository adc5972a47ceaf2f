#include "weft/kernel/pool/upsample.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kUpsampleGrain = 16 * 1024;

// A result along one axis: (1 - share) x[low] + share x[high].
struct Mix {
  std::int64_t low = 0;
  std::int64_t high = 0;
  double share = 0;
};

std::vector<Mix> mixes(std::int64_t in, std::int64_t out, const UpsampleSpec& spec) {
  std::vector<Mix> result(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < out; ++i) {
    Mix& mix = result[static_cast<std::size_t>(i)];
    if (!spec.linear) {
      mix.low = mix.high = std::min(in - 1, i * in / out);
      continue;
    }
    const auto place = static_cast<double>(i);
    const auto from = static_cast<double>(in);
    const auto to = static_cast<double>(out);
    const double at = spec.align_corners ? (out > 1 ? place * (from - 1) / (to - 1) : 0.0)
                                         : std::max(0.0, (place + 0.5) * from / to - 0.5);
    mix.low = std::min(in - 1, static_cast<std::int64_t>(std::floor(at)));
    mix.high = std::min(in - 1, mix.low + 1);
    mix.share = at - static_cast<double>(mix.low);
  }
  return result;
}

struct UpsamplePlanes {
  UpsamplePlanes(const Shape& x, const UpsampleSpec& spec)
      : count(x[0] * x[1]),
        in_height(x[2]),
        in_width(x[3]),
        rows(mixes(x[2], spec.size[0], spec)),
        columns(mixes(x[3], spec.size[1], spec)) {}
  std::int64_t in() const { return in_height * in_width; }
  std::int64_t out() const { return static_cast<std::int64_t>(rows.size() * columns.size()); }

  std::int64_t count;
  std::int64_t in_height;
  std::int64_t in_width;
  std::vector<Mix> rows;
  std::vector<Mix> columns;
};

// Calls body(result, pixel, factor) for the up to four pixels of each result of a plane.
template <class Body>
void for_each_share(const UpsamplePlanes& planes, Body body) {
  std::int64_t at = 0;
  for (const Mix& row : planes.rows) {
    for (const Mix& column : planes.columns) {
      const auto one = [&](std::int64_t r, std::int64_t c, double factor) {
        if (factor != 0) body(at, r * planes.in_width + c, factor);
      };
      one(row.low, column.low, (1 - row.share) * (1 - column.share));
      one(row.low, column.high, (1 - row.share) * column.share);
      one(row.high, column.low, row.share * (1 - column.share));
      one(row.high, column.high, row.share * column.share);
      ++at;
    }
  }
}

template <class T>
void upsample_planes(const UpsamplePlanes& planes, const T* x, T* y) {
  std::fill_n(y, planes.out(), T{0});
  for_each_share(planes, [&](std::int64_t result, std::int64_t pixel, double factor) {
    y[result] += static_cast<T>(factor) * x[pixel];
  });
}

template <class T>
void upsample_planes_backward(const UpsamplePlanes& planes, const T* dy, T* dx) {
  std::fill_n(dx, planes.in(), T{0});
  for_each_share(planes, [&](std::int64_t result, std::int64_t pixel, double factor) {
    dx[pixel] += static_cast<T>(factor) * dy[result];
  });
}

template <class Body>
void for_each_upsample_plane(const UpsamplePlanes& planes, DType dtype, Body body) {
  parallel_for(planes.count, 1 + kUpsampleGrain / std::max<std::int64_t>(1, planes.out()),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) {
                   if (dtype == DType::kF64) {
                     body(double{}, plane);
                   } else {
                     body(float{}, plane);
                   }
                 }
               });
}

}  // namespace

Array upsample2d_forward(const Array& given, const UpsampleSpec& spec) {
  const Array x = given.strided().contiguous();
  Array y = Array::empty({x.dim(0), x.dim(1), spec.size[0], spec.size[1]}, x.dtype(), x.device());
  launch("upsample2d", {&x}, {&y}, [spec](LaunchArrays in, LaunchArrays out) {
    const UpsamplePlanes planes(in[0].shape(), spec);
    for_each_upsample_plane(planes, in[0].dtype(), [&](auto zero, std::int64_t plane) {
      using T = decltype(zero);
      upsample_planes(planes, in[0].data<T>() + plane * planes.in(),
                      out[0].data<T>() + plane * planes.out());
    });
  });
  return y;
}

Array upsample2d_backward(const Array& given, const Shape& x_shape, const UpsampleSpec& spec) {
  const Array dy = given.strided().contiguous();
  Array dx = Array::empty(x_shape, dy.dtype(), dy.device());
  launch("upsample2d_backward", {&dy}, {&dx}, [spec](LaunchArrays in, LaunchArrays out) {
    const UpsamplePlanes planes(out[0].shape(), spec);
    for_each_upsample_plane(planes, in[0].dtype(), [&](auto zero, std::int64_t plane) {
      using T = decltype(zero);
      upsample_planes_backward(planes, in[0].data<T>() + plane * planes.out(),
                               out[0].data<T>() + plane * planes.in());
    });
  });
  return dx;
}

}  // namespace weft
