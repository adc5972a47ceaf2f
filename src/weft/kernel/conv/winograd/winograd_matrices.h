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

class Floats {
 public:
  explicit Floats(std::int64_t count)
      : storage_(Storage::allocate(static_cast<std::size_t>(count) * sizeof(float))) {}
  float* data() const { return static_cast<float*>(storage_->data()); }

 private:
  std::shared_ptr<Storage> storage_;
};

// For each position `panels` panels of `rows` rows of 16 floats.
class Matrices {
 public:
  // The step is odd in cache lines, so that the positions do not fall into one set of the cache.
  Matrices(std::int64_t panels, std::int64_t rows)
      : step_(panels * rows * kPanel + kPanel), floats_(kWinogradPositions * step_) {}
  // Panels of another number of rows share the memory.
  void use_rows(std::int64_t rows) { rows_ = rows; }
  float* at(std::int64_t position, std::int64_t panel, std::int64_t row = 0) const {
    return floats_.data() + position * step_ + (panel * rows_ + row) * kPanel;
  }
  WinogradPanel panel(std::int64_t index, std::int64_t row = 0) const {
    return {at(0, index, row), step_};
  }
  std::int64_t panel_step() const { return rows_ * kPanel; }

 private:
  std::int64_t step_;
  Floats floats_;
  std::int64_t rows_ = 0;
};

inline Matrices matrices(std::int64_t panels, std::int64_t rows) {
  Matrices result(panels, rows);
  result.use_rows(rows);
  return result;
}

}  // namespace weft::winograd
