// Windows: the values that results of a convolution read, gathered as rows of a matrix ("im2col").
//
// A window is a list of groups of 8 values: for each block of 8 channels, its taps in order. Group
// block * taps + tap of a result are 8 adjacent channels of one pixel, or zeros beside the image.
// Threads: pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "weft/array/array.h"
#include "weft/kernel/conv/conv.h"

namespace weft::windows {

// Channels of a block, and values of a group.
inline constexpr std::int64_t kLanes = 8;

// Borrowed images in blocks of channels: [image][block][row][column][8].
template <class T>
struct BlockedImages {
  T* at(std::int64_t image, std::int64_t block, std::int64_t pixel) const {
    return data + ((image * blocks + block) * height * width + pixel) * kLanes;
  }

  T* data;
  std::int64_t images;
  std::int64_t blocks;
  std::int64_t height;
  std::int64_t width;
};

// REQUIRES: the array is in blocks of 8 and holds values of T's size.
template <class T>
BlockedImages<T> blocked_images(const Array& array) {
  return {static_cast<T*>(array.raw_data()), array.dim(0), array.dim(1) / kLanes, array.dim(2),
          array.dim(3)};
}

// The results of each image, by rows and columns; the window of result (r, c) has its taps at pixel
// (r, c) * step + tap.
struct WindowGrid {
  std::int64_t results() const { return rows * columns; }

  std::int64_t rows;
  std::int64_t columns;
  Pair step;
  std::vector<Pair> taps;
};

// Whether windows are pixels, in the order of the images; then these may be one long row each.
template <class T>
bool reads_in_order(const BlockedImages<T>& x, const WindowGrid& grid) {
  return grid.taps.size() == 1 && grid.taps[0] == Pair(0) && grid.step == Pair(1) &&
         grid.rows == x.height && grid.columns == x.width;
}
template <class T>
void make_one_row(BlockedImages<T>& x, WindowGrid& grid) {
  grid.columns = x.width = x.height * x.width;
  grid.rows = x.height = 1;
}

// The windows of a convolution's results y [N, O, H', W'].
WindowGrid windows_of_results(const Shape& y, const Shape& weight, const Conv2dGeometry& geometry);

struct Range {
  std::int64_t first;
  std::int64_t count;
};

// Results [column, column + count) of one row of one image.
struct Run {
  std::int64_t image;
  std::int64_t row;
  std::int64_t column;
  std::int64_t count;
};

// The run of results that are of one row.
inline Run run_at(const WindowGrid& grid, const Range& results) {
  const std::int64_t place = results.first % grid.results();
  return {results.first / grid.results(), place / grid.columns, place % grid.columns,
          results.count};
}

// Calls body(run) for runs of at most `most` that make up `results`, counted through all images of
// rows * columns.
template <class Body>
void for_each_run(std::int64_t rows, std::int64_t columns, const Range& results, std::int64_t most,
                  const Body& body) {
  Run run{results.first / (rows * columns), results.first % (rows * columns) / columns,
          results.first % columns, 0};
  for (std::int64_t left = results.count; left > 0; left -= run.count) {
    run.count = std::min({left, columns - run.column, most});
    body(run);
    run.column += run.count;
    if (run.column < columns) continue;
    run.column = 0;
    if (++run.row < rows) continue;
    run.row = 0;
    ++run.image;
  }
}

// A value in f32; 16 bits are those of bf16.
inline float in_f32(float value) { return value; }
inline float in_f32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// Copies a group, widened where the types differ.
template <class From, class To>
inline void copy_group(const From* from, To* to) {
  if constexpr (std::is_same_v<From, To>) {
    __builtin_memcpy(to, from, kLanes * sizeof(To));
  } else {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      to[lane] = in_f32(from[lane]);
    }
  }
}

// A group of the windows of one image: the plane of its channels, and its tap.
template <class T>
struct WindowGroup {
  T* plane;
  Pair tap;
};

// Calls body(index, group) for each of `groups` of an image's windows.
template <class T, class Body>
void for_each_group(const BlockedImages<T>& x, const WindowGrid& grid, std::int64_t image,
                    const Range& groups, const Body& body) {
  const auto taps = static_cast<std::int64_t>(grid.taps.size());
  std::int64_t tap = groups.first % taps;
  std::int64_t block = groups.first / taps;
  for (std::int64_t i = 0; i < groups.count; ++i) {
    body(i, WindowGroup<T>{x.at(image, block, 0), grid.taps[static_cast<std::size_t>(tap)]});
    if (++tap == taps) {
      tap = 0;
      ++block;
    }
  }
}

// Where the group of a run's first result lies, those of the others grid.step[1] pixels apart; null
// if one of them is beside the image.
template <class T>
T* inside(const BlockedImages<T>& x, const WindowGrid& grid, const WindowGroup<T>& group,
          const Run& run) {
  const std::int64_t r = run.row * grid.step[0] + group.tap[0];
  const std::int64_t c = run.column * grid.step[1] + group.tap[1];
  const std::int64_t last = c + (run.count - 1) * grid.step[1];
  const bool all = r >= 0 && r < x.height && c >= 0 && last < x.width;
  return all ? group.plane + (r * x.width + c) * kLanes : nullptr;
}

// The same group of each result of a run, rows `apart` values from one another.
template <class From, class To>
void gather_group(const BlockedImages<From>& x, const WindowGrid& grid,
                  const WindowGroup<From>& group, const Run& run, To* to, std::int64_t apart);

// Where group g of row i of a matrix begins: at data + i * row_step + g * group_step.
template <class T>
struct GroupRows {
  T* data;
  std::int64_t row_step;
  std::int64_t group_step = kLanes;
};

// Row i becomes `groups` of the window of the i-th of `results`, counted through all images. Values
// of bf16 become f32 where To is float.
template <class From, class To>
void gather(const BlockedImages<From>& x, const WindowGrid& grid, const Range& results,
            const Range& groups, const GroupRows<To>& rows);

}  // namespace weft::windows
