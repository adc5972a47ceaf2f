// The windows of some results as tiles of a product, which read the images where they lie.
//
// A tile of results that are side by side in one row of an image finds group by group at one
// address and a step, as the "indirection buffer" of Dukhan, "The indirect convolution algorithm",
// 2019, arXiv 1907.02129. Only groups that reach beyond the image are copied, with zeros beside it;
// so are those of results that lie in several rows, and values that must be widened.
//
// For this folder. Threads: one at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "weft/array/storage/storage.h"
#include "weft/kernel/conv/windows/window_products.h"
#include "weft/kernel/conv/windows/windows.h"

namespace weft::windows {

// Pixels from one result to the next up to which images are read where they lie.
inline constexpr std::int64_t kStepMax = 2;

template <class Products, class T>
class WindowTiles {
 public:
  using Value = typename Products::Value;
  using Element = typename Products::Element;

  // For at most `results` results and `groups` groups at once; tiles of several rows of an image
  // unless it is `in_rows`.
  WindowTiles(std::int64_t results, std::int64_t groups, bool in_rows)
      : in_rows_(in_rows && std::is_same_v<T, Value>),
        copies_(Storage::allocate(
            static_cast<std::size_t>(results * groups * kLanes * (in_rows_ ? kStepMax : 1)) *
            sizeof(Value))) {}

  // The tiles of results that are `run_length` long and so many apart: of one row of an image, of
  // an image, or of all. place(result) is where its sums begin.
  template <class Place>
  std::span<const GemmTile<Element>> make(const BlockedImages<const T>& x, const WindowGrid& grid,
                                          const Range& results, std::int64_t run_length,
                                          const Range& groups, const Place& place) {
    tiles_.clear();
    groups_.clear();
    used_ = 0;
    for (std::int64_t done = 0; done < results.count;) {
      const std::int64_t first = results.first + done;
      const std::int64_t run = std::min(results.count - done, run_length - first % run_length);
      add_run(x, grid, {first, run}, groups, place);
      done += run;
    }
    for (std::size_t i = 0; i < tiles_.size(); ++i) {
      tiles_[i].groups = groups_.data() + static_cast<std::int64_t>(i) * groups.count;
    }
    return tiles_;
  }

 private:
  template <class Place>
  void add_run(const BlockedImages<const T>& x, const WindowGrid& grid, const Range& results,
               const Range& groups, const Place& place) {
    const std::int64_t tiles = (results.count + Products::rows() - 1) / Products::rows();
    for (std::int64_t i = 0; i < tiles; ++i) {
      const std::int64_t begin = results.first + i * results.count / tiles;
      const std::int64_t end = results.first + (i + 1) * results.count / tiles;
      const std::int64_t step = in_rows_ ? grid.step[1] * kLanes : kLanes;
      tiles_.push_back({end - begin, nullptr,
                        step * std::int64_t{sizeof(Value)} / std::int64_t{sizeof(Element)},
                        place(begin)});
      add_groups(x, grid, {begin, end - begin}, groups, step);
    }
  }

  void add_groups(const BlockedImages<const T>& x, const WindowGrid& grid, const Range& results,
                  const Range& groups, std::int64_t row_step) {
    const std::size_t first = groups_.size();
    groups_.resize(first + static_cast<std::size_t>(groups.count));
    const auto set = [&](std::int64_t group, const Value* values) {
      groups_[first + static_cast<std::size_t>(group)] = reinterpret_cast<const Element*>(values);
    };
    const std::int64_t apart = results.count * row_step;
    if (!in_rows_) {
      Value* const to = take(groups.count * apart);
      for (std::int64_t group = 0; group < groups.count; ++group) set(group, to + group * apart);
      gather(x, grid, results, groups, GroupRows<Value>{to, row_step, apart});
      return;
    }
    if constexpr (std::is_same_v<T, Value>) {
      const Run run = run_at(grid, results);
      for_each_group(x, grid, run.image, groups,
                     [&](std::int64_t i, const WindowGroup<const T>& group) {
                       const T* from = inside(x, grid, group, run);
                       if (from == nullptr) {
                         T* const to = take(apart);
                         gather_group(x, grid, group, run, to, row_step);
                         from = to;
                       }
                       set(i, from);
                     });
    }
  }

  Value* take(std::int64_t count) {
    Value* const place = static_cast<Value*>(copies_->data()) + used_;
    used_ += count;
    return place;
  }

  bool in_rows_;
  std::shared_ptr<Storage> copies_;
  std::int64_t used_ = 0;
  std::vector<GemmTile<Element>> tiles_;
  std::vector<const Element*> groups_;
};

}  // namespace weft::windows
