// ElementwiseWalk: operands laid over a dense output, with as few axes as possible.
//
// For launch_elementwise() and for the fused chains of a graph. Threads: a value.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/array/array.h"

namespace weft {
namespace internal {
// The strides of `operand` broadcast to `shape`: 0 along the axes it is repeated on.
Strides broadcast_strides(const Array& operand, const Shape& shape);
}  // namespace internal

// At most `kOperands` operands. Axis 0 is the outermost, the last one is the run.
template <int kOperands>
class ElementwiseWalk {
 public:
  using Offsets = std::array<std::int64_t, kOperands>;

  // Strides are over `shape`, 0 where an operand is broadcast.
  ElementwiseWalk(const Shape& shape, const std::array<Strides, kOperands>& strides, int operands)
      : operands_(operands) {
    for (int axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] != 1) push(shape[axis], strides, axis);
    }
    if (axes_ == 0) {
      sizes_[0] = 1;
      strides_[0].fill(0);
      axes_ = 1;
    }
  }

  // The step of operand `index` within a run.
  std::int64_t step(int index) const { return strides_[last()][static_cast<std::size_t>(index)]; }

  // Calls run(output index, offsets of the operands in elements, count) for the runs of
  // [begin, end), each of at most `count_max` elements.
  template <class Run>
  void each(std::int64_t begin, std::int64_t end, std::int64_t count_max, const Run& run) const {
    std::array<std::int64_t, Dims::kDimsMax> index{};
    Offsets offset{};
    std::int64_t rest = begin;
    for (std::size_t axis = last() + 1; axis-- > 0;) {
      index[axis] = rest % sizes_[axis];
      rest /= sizes_[axis];
      move(offset, axis, index[axis]);
    }
    for (std::int64_t at = begin; at < end;) {
      const std::int64_t left = std::min(sizes_[last()] - index[last()], end - at);
      const std::int64_t count = std::min(left, count_max);
      run(at, offset, count);
      at += count;
      index[last()] += count;
      move(offset, last(), count);
      for (std::size_t axis = last(); axis > 0 && index[axis] == sizes_[axis]; --axis) {
        move(offset, axis, -index[axis]);
        move(offset, axis - 1, 1);
        index[axis] = 0;
        ++index[axis - 1];
      }
    }
  }

 private:
  std::size_t last() const { return static_cast<std::size_t>(axes_ - 1); }

  void move(Offsets& offset, std::size_t axis, std::int64_t by) const {
    for (std::size_t i = 0; i < static_cast<std::size_t>(operands_); ++i) {
      offset[i] += by * strides_[axis][i];
    }
  }

  // Joins the axis to the one before if all operands continue without a gap.
  void push(std::int64_t size, const std::array<Strides, kOperands>& strides, int axis) {
    const auto count = static_cast<std::size_t>(operands_);
    bool continues = axes_ > 0;
    for (std::size_t i = 0; i < count && continues; ++i) {
      continues = strides_[last()][i] == size * strides[i][axis];
    }
    if (!continues) {
      ++axes_;
      sizes_[last()] = 1;
    }
    sizes_[last()] *= size;
    for (std::size_t i = 0; i < count; ++i) strides_[last()][i] = strides[i][axis];
  }

  int operands_;
  int axes_ = 0;
  std::array<std::int64_t, Dims::kDimsMax> sizes_{};
  std::array<Offsets, Dims::kDimsMax> strides_{};
};

}  // namespace weft
