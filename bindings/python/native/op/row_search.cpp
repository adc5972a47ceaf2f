#include "op/row_search.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "weft/array/dtype/dtype.h"

namespace weft::python {
namespace {

// NaN as the largest value. Halves are compared as floats.
template <class T>
auto comparable(T value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class T>
bool is_nan_value(T value) {
  return value != value;
}

// work(begin of a row, length, places of the row), for rows of the last axis.
template <class Work>
void for_each_row(const Array& rows, Array& places, std::int64_t places_in_row, const Work& work) {
  const std::int64_t length = rows.dim(-1);
  const std::int64_t count = length == 0 ? 0 : rows.size() / length;
  with_dtype(rows.dtype(), [&](auto zero) {
    const auto* const data = rows.data<decltype(zero)>();
    auto* const out = places.data<std::int64_t>();
    for (std::int64_t row = 0; row < count; ++row) {
      work(data + row * length, length, out + row * places_in_row);
    }
  });
}

}  // namespace

Tensor running_extreme(const Tensor& x, int axis, bool largest) {
  if (x.ndim() == 0) return Tensor(Array::zeros(Shape(), DType::kI64));
  const Array moved = x.array().strided().transpose(axis, -1).contiguous();
  Array places = Array::empty(moved.shape(), DType::kI64);
  for_each_row(moved, places, moved.dim(-1), [largest](const auto* row, std::int64_t n, auto* out) {
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = comparable(row[i]);
      const auto so_far = comparable(row[best]);
      const bool further = largest ? value >= so_far : value <= so_far;
      if (!is_nan_value(so_far) && (further || is_nan_value(value))) best = i;
      if (is_nan_value(so_far) && is_nan_value(value)) best = i;
      out[i] = best;
    }
  });
  return Tensor(places.transpose(axis, -1).contiguous());
}

Tensor most_frequent(const Tensor& x) {
  if (x.ndim() == 0) return Tensor(Array::zeros(Shape(), DType::kI64));
  if (x.dim(-1) == 0) throw std::invalid_argument("[mode] expected at least one value, got none");
  const Array rows = x.array().strided().contiguous();
  Shape shape = rows.shape();
  shape.erase(shape.size() - 1);
  Array places = Array::empty(shape, DType::kI64);
  std::vector<std::int64_t> order;
  for_each_row(rows, places, 1, [&order](const auto* row, std::int64_t n, auto* out) {
    order.resize(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::stable_sort(order.begin(), order.end(), [row](std::int64_t a, std::int64_t b) {
      const auto left = comparable(row[a]);
      const auto right = comparable(row[b]);
      return left < right || (is_nan_value(right) && !is_nan_value(left));
    });
    std::int64_t run = 0;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      ++run;
      const bool ends =
          i + 1 == order.size() || comparable(row[order[i]]) != comparable(row[order[i + 1]]);
      if (!ends) continue;
      if (run > longest) out[0] = order[i];
      longest = std::max(longest, run);
      run = 0;
    }
  });
  return Tensor(places);
}

}  // namespace weft::python
