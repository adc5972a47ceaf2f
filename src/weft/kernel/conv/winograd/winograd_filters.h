// The filters of a convolution in the orders in which their transforms read and write them. For
// winograd.cpp.
// Threads: values; blocks of different filters may be written at once. Fails: never.
#pragma once

#include <algorithm>
#include <cstdint>

#include "weft/kernel/conv/winograd/winograd_loops.h"
#include "weft/kernel/conv/winograd/winograd_plan.h"

namespace weft::winograd {

// How filters [O, C, 3, 3] are read: those of one panel lie lane_step apart, rows row_step.
struct FilterOrder {
  float* data;
  std::int64_t lane_step;
  std::int64_t row_step;
  std::int64_t lanes;  // of all panels
  std::int64_t rows;
};

inline constexpr std::int64_t kFilterFloats = 9;
inline constexpr std::int64_t kBlockFloats = kPanel * kFilterFloats;

// The filters of 16 lanes and up to 16 rows, side by side: where lanes lie far apart, they are read
// and written in runs, not one filter of each in turn.
class FilterBlock {
 public:
  FilterBlock(const FilterOrder& order, std::int64_t first_lane, std::int64_t first_row)
      : order_(order),
        first_(order.data + first_lane * order.lane_step + first_row * order.row_step),
        lanes_(std::min(kPanel, order.lanes - first_lane)),
        rows_(std::clamp<std::int64_t>(order.rows - first_row, 0, kPanel)),
        copied_(order.row_step == kFilterFloats) {}

  std::int64_t rows() const { return rows_; }
  WinogradFilters row(std::int64_t row) {
    if (copied_) return {values_ + row * kFilterFloats, kBlockFloats, lanes_};
    return {first_ + row * order_.row_step, order_.lane_step, lanes_};
  }
  bool copied() const { return copied_; }

  void read() {
    if (!copied_) return;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) {
      std::copy_n(first_ + lane * order_.lane_step, rows_ * kFilterFloats,
                  values_ + lane * kBlockFloats);
    }
  }
  void write(bool accumulate) const {
    if (!copied_) return;
    for (std::int64_t lane = 0; lane < lanes_; ++lane) {
      const float* const from = values_ + lane * kBlockFloats;
      float* const to = first_ + lane * order_.lane_step;
      for (std::int64_t i = 0; i < rows_ * kFilterFloats; ++i) {
        to[i] = accumulate ? to[i] + from[i] : from[i];
      }
    }
  }

 private:
  const FilterOrder& order_;
  float* first_;
  std::int64_t lanes_;
  std::int64_t rows_;
  bool copied_;
  float values_[kPanel * kBlockFloats];
};

}  // namespace weft::winograd
