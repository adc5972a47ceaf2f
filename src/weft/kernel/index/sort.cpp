#include "weft/kernel/index/sort.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "weft/array/launch.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

constexpr std::int64_t kSortGrain = 4'096;

// What is compared: halves as floats.
template <class T>
auto key_of(T value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class K>
bool is_nan(K key) {
  return key != key;
}

// NaN last.
template <class K>
bool less(K a, K b) {
  if constexpr (std::is_floating_point_v<K>) {
    if (is_nan(b)) return !is_nan(a);
  }
  return a < b;
}

template <class K>
struct Entry {
  K key;
  std::int64_t position;
};

// Strict and total: equal keys in the order of their positions.
template <class K>
struct Before {
  bool operator()(const Entry<K>& a, const Entry<K>& b) const {
    if (less(a.key, b.key)) return !descending;
    if (less(b.key, a.key)) return descending;
    return a.position < b.position;
  }
  bool descending;
};

template <class T>
using EntryOf = Entry<decltype(key_of(T{}))>;

// Calls body(entries, out) for each row of `x`, on the threads; `out` has `width` places.
template <class T, class Body>
void each_row(const Array& x, const Array& out, std::int64_t width, const Body& body) {
  const std::int64_t count = x.shape().back();
  if (count == 0 || width == 0) return;
  const T* const values = static_cast<const T*>(x.raw_data());
  std::int64_t* const to = static_cast<std::int64_t*>(out.raw_data());
  parallel_for(x.size() / count, 1 + kSortGrain / count, [&](std::int64_t begin, std::int64_t end) {
    std::vector<EntryOf<T>> entries(static_cast<std::size_t>(count));
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < count; ++i) {
        entries[static_cast<std::size_t>(i)] = {key_of(values[row * count + i]), i};
      }
      body(entries, to + row * width);
    }
  });
}

template <class K>
void write_positions(const std::vector<Entry<K>>& entries, std::int64_t* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = entries[static_cast<std::size_t>(i)].position;
}

// A key of 32 bits and the position below it: such numbers are in the order of Before, and are
// compared at once.
template <class T>
inline constexpr bool kIsPacked = sizeof(T) <= 4;

template <class T>
std::uint32_t ordered_bits(T value) {
  if constexpr (kIsFloating<T>) {
    const float key = static_cast<float>(key_of(value)) + 0.0F;  // -0 is equal to 0
    if (is_nan(key)) return ~std::uint32_t{0};
    const auto bits = std::bit_cast<std::uint32_t>(key);
    return bits ^ (bits >> 31U != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31U);
  } else {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value)) ^ (std::uint32_t{1} << 31U);
  }
}

// The smallest `width` numbers, in order, come to the front.
void sort_front(std::vector<std::uint64_t>& numbers, std::int64_t width) {
  constexpr std::int64_t kInserted = 8;
  const auto begin = numbers.begin();
  const auto end = begin + width;
  if (width > kInserted) {
    if (end != numbers.end()) std::nth_element(begin, end - 1, numbers.end());
    std::sort(begin, end);
    return;
  }
  std::sort(begin, end);
  for (auto each = end; each != numbers.end(); ++each) {
    if (*each > *(end - 1)) continue;
    const std::uint64_t number = *each;
    auto place = end - 1;
    for (; place != begin && *(place - 1) > number; --place) *place = *(place - 1);
    *place = number;
  }
}

template <class T>
void first_in_order(const Array& x, const Array& out, bool descending) {
  const std::int64_t count = x.shape().back();
  const std::int64_t width = out.shape().back();
  if (count == 0 || width == 0) return;
  const T* const values = static_cast<const T*>(x.raw_data());
  std::int64_t* const to = static_cast<std::int64_t*>(out.raw_data());
  parallel_for(x.size() / count, 1 + kSortGrain / count, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t key = ordered_bits(values[row * count + i]);
        numbers[static_cast<std::size_t>(i)] =
            std::uint64_t{descending ? ~key : key} << 32U | static_cast<std::uint64_t>(i);
      }
      sort_front(numbers, width);
      for (std::int64_t i = 0; i < width; ++i) {
        to[row * width + i] =
            static_cast<std::int64_t>(numbers[static_cast<std::size_t>(i)] & 0xFFFFFFFFU);
      }
    }
  });
}

template <class T>
void first_entries_in_order(const Array& x, const Array& out, bool descending) {
  const std::int64_t width = out.shape().back();
  each_row<T>(x, out, width, [=](std::vector<EntryOf<T>>& entries, std::int64_t* to) {
    using K = decltype(key_of(T{}));
    const Before<K> before{descending};
    const auto end = entries.begin() + width;
    if (end != entries.end()) std::nth_element(entries.begin(), end - 1, entries.end(), before);
    std::sort(entries.begin(), end, before);
    write_positions(entries, to, width);
  });
}

template <class T>
void medians(const Array& x, const Array& out) {
  each_row<T>(x, out, 1, [](std::vector<EntryOf<T>>& entries, std::int64_t* to) {
    using K = decltype(key_of(T{}));
    for (const Entry<K>& entry : entries) {
      if (!is_nan(entry.key)) continue;
      *to = entry.position;
      return;
    }
    const auto middle = entries.begin() + static_cast<std::int64_t>((entries.size() - 1) / 2);
    std::nth_element(entries.begin(), middle, entries.end(), Before<K>{false});
    *to = middle->position;
  });
}

template <class T>
void search(const Array& sorted, const Array& values, const Array& out, bool right) {
  const std::int64_t count = sorted.shape().back();
  const std::int64_t each = values.ndim() == 0 ? 1 : values.shape().back();
  const T* const from = static_cast<const T*>(sorted.raw_data());
  const T* const wanted = static_cast<const T*>(values.raw_data());
  std::int64_t* const to = static_cast<std::int64_t*>(out.raw_data());
  const bool one_row = sorted.ndim() == 1;
  const auto in_order = [](T a, T b) { return less(key_of(a), key_of(b)); };
  parallel_for(values.size(), 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* const row = from + (one_row ? 0 : i / each * count);
      const T* const found = right ? std::upper_bound(row, row + count, wanted[i], in_order)
                                   : std::lower_bound(row, row + count, wanted[i], in_order);
      to[i] = found - row;
    }
  });
}

}  // namespace

Array partial_argsort_rows(const Array& x, std::int64_t count, bool descending) {
  const Array from = x.contiguous();
  Shape shape = x.shape();
  shape[shape.size() - 1] = count;
  Array y = Array::empty(shape, DType::kI64, x.device());
  launch("sort", {&from}, {&y}, [descending](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (kIsPacked<T>) {
        if (in[0].shape().back() <= std::int64_t{0xFFFFFFFF}) {
          return first_in_order<T>(in[0], out[0], descending);
        }
      }
      first_entries_in_order<T>(in[0], out[0], descending);
    });
  });
  return y;
}

Array argsort_rows(const Array& x, bool descending) {
  return partial_argsort_rows(x, x.shape().back(), descending);
}

Array median_rows(const Array& x) {
  const Array from = x.contiguous();
  Shape shape = x.shape();
  shape[shape.size() - 1] = 1;
  Array y = Array::empty(shape, DType::kI64, x.device());
  launch("median", {&from}, {&y}, [](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(), [&](auto zero) { medians<decltype(zero)>(in[0], out[0]); });
  });
  return y;
}

Array searchsorted_rows(const Array& sorted, const Array& values, bool right) {
  Array y = Array::empty(values.shape(), DType::kI64, values.device());
  launch("searchsorted", {&sorted, &values}, {&y}, [right](LaunchArrays in, LaunchArrays out) {
    with_dtype(in[0].dtype(),
               [&](auto zero) { search<decltype(zero)>(in[0], in[1], out[0], right); });
  });
  return y;
}

}  // namespace weft
