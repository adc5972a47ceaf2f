#include "weft/array/shape/shape.h"

#include <ostream>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace weft {
namespace {

void check_position(const Dims& dims, int at, int last) {
  if (at >= 0 && at <= last) return;
  throw std::invalid_argument(fmt::format("[shape] expected a position of {} from 0 to {}, got {}",
                                          to_string(dims), last, at));
}

}  // namespace

void Dims::throw_too_many() {
  throw std::invalid_argument(
      fmt::format("[shape] expected at most {} dimensions, got more", kDimsMax));
}

void Dims::throw_too_large() const {
  throw std::invalid_argument(
      fmt::format("[shape] expected a size that fits in 63 bits, got {}", to_string(*this)));
}

void Dims::insert(int at, std::int64_t value) {
  if (size_ == kDimsMax) throw_too_many();
  check_position(*this, at, size_);
  std::copy_backward(begin() + at, end(), end() + 1);
  ++size_;
  (*this)[at] = value;
}

void Dims::erase(int at) {
  check_position(*this, at, size_ - 1);
  std::copy(begin() + at + 1, end(), begin() + at);
  --size_;
}

std::string to_string(const Dims& dims) {
  return fmt::format("[{}]", fmt::join(dims.begin(), dims.end(), ", "));
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const int lead = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const std::int64_t theirs = shorter[i];
    std::int64_t& ours = result[lead + i];
    if (ours == theirs || theirs == 1) continue;
    if (ours != 1) {
      throw std::invalid_argument(fmt::format(
          "[broadcast] expected shapes whose sizes are equal or 1, aligned at the last axis, got "
          "{} and {}",
          to_string(a), to_string(b)));
    }
    ours = theirs;
  }
  return result;
}

namespace internal {
void throw_axis(const char* operation, int axis, int ndim) {
  throw std::invalid_argument(
      fmt::format("[{}] expected an axis in [{}, {}), got {}", operation, -ndim, ndim, axis));
}
}  // namespace internal

}  // namespace weft
