// Poolings over one plane, of any type, number of channels side by side and window; pool_loops.h
// has faster ones for most. For pool.cpp. Threads: values. Fails: never.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernel/pool/pool.h"

namespace weft::pool_windows {

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

inline PoolSpan window(std::int64_t output, std::int64_t extent, std::size_t axis,
                       const Pool2dGeometry& geometry) {
  const std::int64_t first = output * geometry.stride[axis] - geometry.padding[axis];
  const std::int64_t begin = std::max<std::int64_t>(first, 0);
  return {begin, std::min(first + geometry.kernel[axis], extent), begin - first};
}

// How many values the mean of a window is over.
inline std::int64_t values_in(const PoolSpan& span, std::int64_t extent, std::size_t axis,
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

}  // namespace weft::pool_windows
