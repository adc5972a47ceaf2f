// Shape and Strides: up to kDimsMax int64 values kept inline, so that no shape costs a heap block.
//
// Fails: more than kDimsMax dimensions or shapes that do not broadcast throw
// std::invalid_argument; sizes that overflow int64 too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
  explicit Dims(std::span<const std::int64_t> values) {
    if (values.size() > std::size_t{kDimsMax}) throw_too_many();
    std::copy(values.begin(), values.end(), begin());
    size_ = static_cast<int>(values.size());
  }
  // `count` times `value`.
  static Dims filled(int count, std::int64_t value) {
    if (count > kDimsMax) throw_too_many();
    Dims dims;
    dims.size_ = std::max(count, 0);
    std::fill(dims.begin(), dims.end(), value);
    return dims;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  const std::int64_t* begin() const { return values_.data(); }
  const std::int64_t* end() const { return values_.data() + size_; }
  std::int64_t* begin() { return values_.data(); }
  std::int64_t* end() { return values_.data() + size_; }
  std::int64_t back() const { return values_[static_cast<std::size_t>(size_ - 1)]; }
  void push_back(std::int64_t value) {
    if (size_ == kDimsMax) throw_too_many();
    values_[static_cast<std::size_t>(size_++)] = value;
  }
  // Puts `value` before position `at`; erase takes one out. Throws unless it is in range.
  void insert(int at, std::int64_t value);
  void erase(int at);

  // The product of the values; 1 without any.
  std::int64_t num_elements() const {
    std::int64_t product = 1;
    for (const std::int64_t value : *this) {
      if (__builtin_mul_overflow(product, value, &product)) throw_too_large();
    }
    return product;
  }

  friend bool operator==(const Dims& a, const Dims& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] static void throw_too_many();
  [[noreturn]] void throw_too_large() const;

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
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    // May wrap for a shape that num_elements() refuses: unsigned, so that this is no error.
    step = static_cast<std::int64_t>(static_cast<std::uint64_t>(step) *
                                     static_cast<std::uint64_t>(shape[i]));
  }
  return strides;
}

namespace internal {
[[noreturn]] void throw_axis(const char* operation, int axis, int ndim);
}  // namespace internal

// `axis` in [-ndim, ndim) as a number in [0, ndim); throws with the name of the operation.
inline int normalize_axis(const char* operation, int axis, int ndim) {
  if (axis < -ndim || axis >= ndim) internal::throw_axis(operation, axis, ndim);
  return axis < 0 ? axis + ndim : axis;
}

}  // namespace weft
