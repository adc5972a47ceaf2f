#include <algorithm>
#include <optional>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"
#include "weft/kernel/pool/pool.h"

namespace weft {
namespace {

constexpr std::int64_t kAdaptivePoolGrain = 16 * 1024;

// Window `i` of `count` over `size` values: [floor(i size / count), ceil((i + 1) size / count)).
struct WindowSpan {
  WindowSpan(std::int64_t i, std::int64_t count, std::int64_t size)
      : begin(i * size / count), end(((i + 1) * size + count - 1) / count) {}
  std::int64_t begin;
  std::int64_t end;
};

struct AdaptiveSizes {
  std::int64_t in_height;
  std::int64_t in_width;
  std::int64_t out_height;
  std::int64_t out_width;
  std::int64_t in() const { return in_height * in_width; }
  std::int64_t out() const { return out_height * out_width; }
};

// Calls body(index of the result in its plane, rows, columns) for every window.
template <class Body>
void for_each_adaptive_window(const AdaptiveSizes& sizes, Body body) {
  for (std::int64_t i = 0; i < sizes.out_height; ++i) {
    const WindowSpan rows(i, sizes.out_height, sizes.in_height);
    for (std::int64_t j = 0; j < sizes.out_width; ++j) {
      body(i * sizes.out_width + j, rows, WindowSpan(j, sizes.out_width, sizes.in_width));
    }
  }
}

// Calls body(plane) for each of `count` planes, in parallel.
template <class Body>
void for_each_adaptive_plane(std::int64_t count, const AdaptiveSizes& sizes, Body body) {
  parallel_for(count, 1 + kAdaptivePoolGrain / std::max<std::int64_t>(1, sizes.in()),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t plane = begin; plane < end; ++plane) body(plane);
               });
}

template <class Body>
void with_float(DType dtype, Body body) {
  if (dtype == DType::kF64) {
    body(double{});
  } else {
    body(float{});
  }
}

template <class T>
void adaptive_avg_forward(const AdaptiveSizes& sizes, const T* x, T* y) {
  for_each_adaptive_window(sizes, [&](std::int64_t at, const WindowSpan& rows,
                                      const WindowSpan& columns) {
    double sum = 0;
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = columns.begin; c < columns.end; ++c) {
        sum += double{x[r * sizes.in_width + c]};
      }
    }
    const auto count = static_cast<double>((rows.end - rows.begin) * (columns.end - columns.begin));
    y[at] = static_cast<T>(sum / count);
  });
}

template <class T>
void adaptive_avg_backward(const AdaptiveSizes& sizes, const T* dy, T* dx) {
  std::fill_n(dx, sizes.in(), T{0});
  for_each_adaptive_window(
      sizes, [&](std::int64_t at, const WindowSpan& rows, const WindowSpan& columns) {
        const T share =
            dy[at] / static_cast<T>((rows.end - rows.begin) * (columns.end - columns.begin));
        for (std::int64_t r = rows.begin; r < rows.end; ++r) {
          for (std::int64_t c = columns.begin; c < columns.end; ++c) {
            dx[r * sizes.in_width + c] += share;
          }
        }
      });
}

template <class T>
void adaptive_max_forward(const AdaptiveSizes& sizes, const T* x, T* y, std::int64_t* winners) {
  for_each_adaptive_window(sizes, [&](std::int64_t at, const WindowSpan& rows,
                                      const WindowSpan& columns) {
    std::int64_t winner = rows.begin * sizes.in_width + columns.begin;
    T best = x[winner];
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = columns.begin; c < columns.end; ++c) {
        const std::int64_t place = r * sizes.in_width + c;
        const T value = x[place];
        // A NaN wins, as in PyTorch. Without branches, which would be mispredicted.
        const bool wins = (static_cast<int>(value > best) | static_cast<int>(value != value)) != 0;
        best = wins ? value : best;
        winner = wins ? place : winner;
      }
    }
    y[at] = best;
    if (winners != nullptr) winners[at] = winner;
  });
}

AdaptiveSizes sizes_of(const Shape& x, const Shape& y) { return {x[2], x[3], y[2], y[3]}; }

// Windows that divide the image evenly are those of a pooling whose stride is its window, which has
// faster loops; nothing if they do not.
std::optional<Pool2dGeometry> even_windows(const Shape& x, const Pair& size) {
  if (x[2] % size[0] != 0 || x[3] % size[1] != 0) return std::nullopt;
  Pool2dGeometry even;
  even.kernel = even.stride = Pair(x[2] / size[0], x[3] / size[1]);
  return even;
}

Pair size_of_image(const Array& images) { return {images.dim(2), images.dim(3)}; }

}  // namespace

Array adaptive_avg_pool2d_forward(const Array& given, const Pair& size) {
  const Array x = given.strided().contiguous();
  Array y = Array::empty({x.dim(0), x.dim(1), size[0], size[1]}, x.dtype(), x.device());
  launch("adaptive_avg_pool2d", {&x}, {&y}, [](LaunchArrays in, LaunchArrays out) {
    const AdaptiveSizes sizes = sizes_of(in[0].shape(), out[0].shape());
    with_float(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_adaptive_plane(in[0].dim(0) * in[0].dim(1), sizes, [&](std::int64_t plane) {
        adaptive_avg_forward(sizes, in[0].data<T>() + plane * sizes.in(),
                             out[0].data<T>() + plane * sizes.out());
      });
    });
  });
  return y;
}

Array adaptive_avg_pool2d_backward(const Array& given, const Shape& x_shape) {
  const Array dy = given.strided().contiguous();
  Array dx = Array::empty(x_shape, dy.dtype(), dy.device());
  launch("adaptive_avg_pool2d_backward", {&dy}, {&dx}, [](LaunchArrays in, LaunchArrays out) {
    const AdaptiveSizes sizes = sizes_of(out[0].shape(), in[0].shape());
    with_float(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      for_each_adaptive_plane(in[0].dim(0) * in[0].dim(1), sizes, [&](std::int64_t plane) {
        adaptive_avg_backward(sizes, in[0].data<T>() + plane * sizes.out(),
                              out[0].data<T>() + plane * sizes.in());
      });
    });
  });
  return dx;
}

bool adaptive_max_pool2d_takes_bf16(const Array& x, const Pair& size) {
  const auto even = even_windows(x.shape(), size);
  return even && max_pool2d_takes_bf16(x, *even);
}

MaxPoolOutput adaptive_max_pool2d_forward(const Array& given, const Pair& size, bool with_winners) {
  if (const auto even = even_windows(given.shape(), size)) {
    return max_pool2d_forward(given, *even, with_winners);
  }
  const Array x = given.strided().contiguous();
  const Shape shape = {x.dim(0), x.dim(1), size[0], size[1]};
  MaxPoolOutput result{Array::empty(shape, x.dtype(), x.device()), {}};
  if (with_winners) result.winners = Array::empty(shape, DType::kI64, x.device());
  launch("adaptive_max_pool2d", {&x}, {&result.y, &result.winners},
         [](LaunchArrays in, LaunchArrays out) {
           const AdaptiveSizes sizes = sizes_of(in[0].shape(), out[0].shape());
           with_float(in[0].dtype(), [&](auto zero) {
             using T = decltype(zero);
             for_each_adaptive_plane(in[0].dim(0) * in[0].dim(1), sizes, [&](std::int64_t plane) {
               adaptive_max_forward(
                   sizes, in[0].data<T>() + plane * sizes.in(),
                   out[0].data<T>() + plane * sizes.out(),
                   out[1].defined() ? out[1].data<std::int64_t>() + plane * sizes.out() : nullptr);
             });
           });
         });
  return result;
}

Array adaptive_max_pool2d_backward(const Array& given, const MaxPoolOutput& forward,
                                   const Shape& x_shape) {
  if (const auto even = even_windows(x_shape, size_of_image(forward.y))) {
    return max_pool2d_backward(given, forward, x_shape, *even);
  }
  const Array dy = given.strided().contiguous();
  Array dx = Array::empty(x_shape, dy.dtype(), dy.device());
  launch("adaptive_max_pool2d_backward", {&dy, &forward.winners}, {&dx},
         [](LaunchArrays in, LaunchArrays out) {
           const AdaptiveSizes sizes = sizes_of(out[0].shape(), in[0].shape());
           with_float(in[0].dtype(), [&](auto zero) {
             using T = decltype(zero);
             for_each_adaptive_plane(in[0].dim(0) * in[0].dim(1), sizes, [&](std::int64_t plane) {
               T* const to = out[0].data<T>() + plane * sizes.in();
               std::fill_n(to, sizes.in(), T{0});
               for (std::int64_t i = 0; i < sizes.out(); ++i) {
                 const std::int64_t at = plane * sizes.out() + i;
                 to[in[1].data<std::int64_t>()[at]] += in[0].data<T>()[at];
               }
             });
           });
         });
  return dx;
}

Array adaptive_max_pool2d_take(const Array& given, const MaxPoolOutput& forward) {
  if (const auto even = even_windows(given.shape(), size_of_image(forward.y))) {
    return max_pool2d_take(given, forward, *even);
  }
  const Array dx = given.strided().contiguous();
  const Array& winners = forward.winners;
  Array dy = Array::empty(winners.shape(), dx.dtype(), dx.device());
  launch("adaptive_max_pool2d_take", {&dx, &winners}, {&dy}, [](LaunchArrays in, LaunchArrays out) {
    const AdaptiveSizes sizes = sizes_of(in[0].shape(), out[0].shape());
    with_float(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < out[0].size(); ++i) {
        const std::int64_t plane = i / sizes.out();
        out[0].data<T>()[i] = in[0].data<T>()[plane * sizes.in() + in[1].data<std::int64_t>()[i]];
      }
    });
  });
  return dy;
}

}  // namespace weft
