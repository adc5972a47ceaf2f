// Shape and Strides: up to kDimsMax int64 values kept inline, so that no shape costs a heap block.
//
// Fails: more than kDimsMax dimensions or shapes that do not broadcast throw
// std::invalid_argument; sizes that overflow int64 too.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>

#include "weft/base/check.h"

namespace weft {

class Dims {
 public:
  static constexpr int kDimsMax = 8;

  Dims() = default;
  Dims(std::initializer_list<std::int64_t> values)  // NOLINT(google-explicit-constructor)
      : Dims(std::span<const std::int64_t>(values.begin(), values.size())) {}
  explicit Dims(std::span<const std::int64_t> values);
  // `count` times `value`.
  static Dims filled(int count, std::int64_t value);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + size_; }
  std::int64_t back() const { return values_[static_cast<std::size_t>(size_ - 1)]; }
  void push_back(std::int64_t value);
  // Puts `value` before position `at`; erase takes one out. Throws unless it is in range.
  void insert(int at, std::int64_t value);
  void erase(int at);

  // The product of the values; 1 without any.
  std::int64_t num_elements() const;

  friend bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<std::int64_t, kDimsMax> values_{};
  int size_ = 0;
};

// Elements along each axis, all >= 0.
using Shape = Dims;
// Elements (not bytes) from one index of an axis to the next; 0 and negative values are allowed.
using Strides = Dims;

// "[64, 1, 28, 28]".
std::string to_string(const Dims& dims);
std::ostream& operator<<(std::ostream& out, const Dims& dims);

// NumPy's rule: align at the last axis; sizes are equal or one of them is 1.
Shape broadcast_shapes(const Shape& a, const Shape& b);

// Strides of a row-major array without gaps.
Strides contiguous_strides(const Shape& shape);

// `axis` in [-ndim, ndim) as a number in [0, ndim); throws with the name of the operation.
int normalize_axis(const char* operation, int axis, int ndim);

}  // namespace weft
