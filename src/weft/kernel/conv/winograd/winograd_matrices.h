// Matrices: transformed tiles or filters of all positions, in panels. For winograd.cpp.
// Threads: values; parts may be written by several threads. Fails: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/array/array.h"
#include "weft/kernel/conv/winograd/winograd_loops.h"
#include "weft/kernel/conv/winograd/winograd_plan.h"

namespace weft::winograd {

template <class T>
class Values {
 public:
  explicit Values(std::int64_t count)
      : storage_(Storage::allocate(static_cast<std::size_t>(count) * sizeof(T))) {}
  T* data() const { return static_cast<T*>(storage_->data()); }

 private:
  std::shared_ptr<Storage> storage_;
};

// For each position `panels` panels of `rows` rows of 16 values of type T.
template <class T>
class Matrices {
 public:
  // The step is odd in cache lines, so that the positions do not fall into one set of the cache.
  Matrices(std::int64_t panels, std::int64_t rows)
      : step_(panels * rows * kPanel + kLine), values_(kWinogradPositions * step_), rows_(rows) {}
  // Panels of another number of rows share the memory.
  void use_rows(std::int64_t rows) { rows_ = rows; }
  T* at(std::int64_t position, std::int64_t panel, std::int64_t row = 0) const {
    return values_.data() + position * step_ + (panel * rows_ + row) * kPanel;
  }
  WinogradPanel<T> panel(std::int64_t index, std::int64_t row = 0) const {
    return {at(0, index, row), step_};
  }
  std::int64_t panel_step() const { return rows_ * kPanel; }

 private:
  static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(T));
  std::int64_t step_;
  Values<T> values_;
  std::int64_t rows_;
};

}  // namespace weft::winograd
