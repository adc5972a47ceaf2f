// WinogradPlan: the sizes of one convolution by minimal filtering, and how its work is cut into
// groups of tiles, chunks of filters and shares of threads. For winograd.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/kernel/conv/winograd/winograd.h"
#include "weft/kernel/conv/winograd/winograd_loops.h"

namespace weft::winograd {

inline constexpr std::int64_t kPanel = kWinogradPanel;
// Transformed filters of one chunk: what a third-level cache holds beside the tiles.
inline constexpr std::int64_t kChunkBytes = 5 << 20;
// Tiles of a group: many enough that reading the filters for each group costs little.
inline constexpr std::int64_t kGroupTiles = 128;
// The same where the filters come in chunks and each chunk would transform the tiles again.
inline constexpr std::int64_t kGroupTilesOfChunks = 512;
// Tiles below which a thread gets no groups of its own.
inline constexpr std::int64_t kShareTiles = 16;
// Transformed tiles and results of such a group: a core's part of a third-level cache.
inline constexpr std::int64_t kShareBytes = 4 << 20;
// Depth of one product: 16 KiB of a panel of filters of T stay in the first-level cache.
template <class T>
inline constexpr std::int64_t kDepth = 1024 / static_cast<std::int64_t>(sizeof(T));

inline std::int64_t up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit; }

// Some rows of tiles of some images.
struct Group {
  std::int64_t first_image;
  std::int64_t images;
  std::int64_t first_row;
  std::int64_t rows;
};

// Groups and who takes them. With several shares each is one thread's: it finds what it transformed
// in its own cache. All threads together take the groups of a single share, one after the other,
// and read half of what the others wrote, which is slow where they have no cache in common.
struct Shares {
  std::int64_t first(std::int64_t share) const {
    return static_cast<std::int64_t>(groups.size()) * share / count;
  }

  std::vector<Group> groups;
  std::int64_t count;
};

// Panels cut into chunks of about equal size.
struct Chunks {
  Chunks(std::int64_t panel_count, std::int64_t bytes_each)
      : panels(panel_count),
        count(up(panel_count, std::max<std::int64_t>(1, kChunkBytes / bytes_each))),
        size(up(panel_count, count)) {}
  std::int64_t first(std::int64_t chunk) const { return chunk * size; }
  std::int64_t size_of(std::int64_t chunk) const { return std::min(size, panels - first(chunk)); }

  std::int64_t panels;
  std::int64_t count;
  std::int64_t size;
};

template <class T>
std::int64_t panel_bytes(std::int64_t depth_panels) {
  return kWinogradPositions * depth_panels * kPanel * kPanel * static_cast<std::int64_t>(sizeof(T));
}

// The sizes of one convolution.
struct WinogradPlan {
  WinogradPlan(const Shape& x_shape, const Shape& weight_shape, const Conv2dGeometry& geometry)
      : x(x_shape),
        y(conv2d_shape(x_shape, weight_shape, geometry)),
        inputs(weight_shape[1]),
        outputs(weight_shape[0]),
        in_panels(up(inputs, kPanel)),
        out_panels(up(outputs, kPanel)),
        across(up(y[3], kWinogradTile)),
        down(up(y[2], kWinogradTile)),
        padding(geometry.padding) {}

  // The batch in groups for filters in such chunks.
  std::vector<Group> groups(const Chunks& chunks) const {
    return groups(chunks.count > 1 ? kGroupTilesOfChunks : kGroupTiles);
  }
  // The batch in groups of about `tiles`.
  std::vector<Group> groups(std::int64_t tiles) const {
    std::vector<Group> result;
    const std::int64_t each = down * across;
    if (each >= 2 * tiles) {
      const std::int64_t bands = up(down, std::max<std::int64_t>(1, tiles / across));
      const std::int64_t rows = up(down, bands);
      for (std::int64_t image = 0; image < x[0]; ++image) {
        for (std::int64_t row = 0; row < down; row += rows) {
          result.push_back({image, 1, row, std::min(rows, down - row)});
        }
      }
      return result;
    }
    const std::int64_t count = up(x[0], std::max<std::int64_t>(1, tiles / each));
    const std::int64_t images = up(x[0], count);
    for (std::int64_t image = 0; image < x[0]; image += images) {
      result.push_back({image, std::min(images, x[0] - image), 0, down});
    }
    return result;
  }
  // The same in shares for so many threads, of a pass whose groups do not depend on each other.
  Shares shares(const Chunks& chunks, std::int64_t threads) const {
    const std::int64_t share = x[0] * down * across / threads;
    const std::int64_t tile_bytes =
        kWinogradPositions * (in_panels + out_panels) * kPanel * std::int64_t{sizeof(float)};
    const std::int64_t most = std::min({share, kGroupTiles, kShareBytes / tile_bytes});
    // A thread of a share reads all filters for each of its groups, C O values beside the (C + O)
    // of each tile, half of which it would otherwise read from another thread, at a higher price.
    const bool pays = 3 * most * (in_panels + out_panels) >= 2 * kPanel * in_panels * out_panels;
    if (threads == 1 || chunks.count > 1 || most < kShareTiles || !pays) return {groups(chunks), 1};
    Shares result{groups(most), threads};
    std::int64_t largest = 0;
    for (std::int64_t i = 0; i < threads; ++i) {
      std::int64_t size = 0;
      for (std::int64_t g = result.first(i); g < result.first(i + 1); ++g) {
        size += tiles(result.groups[static_cast<std::size_t>(g)]);
      }
      largest = std::max(largest, size);
    }
    // A fifth of the time at most is lost by waiting for the thread that has most.
    if (largest > share + share / 4) return {groups(chunks), 1};
    return result;
  }
  std::int64_t tiles(const Group& group) const { return group.images * group.rows * across; }
  // Operations that one gradient asks for, for each panel of inputs and each tile.
  double gradient_flops() const {
    return 18.0 * static_cast<double>(y.num_elements()) * static_cast<double>(inputs) /
           static_cast<double>(in_panels * x[0] * down * across);
  }
  WinogradTiles tiles_of(const Group& group) const {
    return {group.first_row, group.rows, across, padding[0], padding[1]};
  }

  Shape x;
  Shape y;
  std::int64_t inputs;
  std::int64_t outputs;
  std::int64_t in_panels;
  std::int64_t out_panels;
  std::int64_t across;  // tiles
  std::int64_t down;
  Pair padding = 0;
};

}  // namespace weft::winograd
