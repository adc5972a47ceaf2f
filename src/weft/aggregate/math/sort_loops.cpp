// The loops of sort_loops.h, compiled once for each instruction set, and without regard for NaN
// and -0: only then does g++ take the smaller of two values by one instruction.
//
// merge() of 2 p rows has layers of distances p, p/2, ..., 1. In the layer of distance k < p, row j
// is compared with row j + k where j / k is odd. The rows j, j + d, j + 2 d, ... do not meet others
// before the layers of distances below d.
#include "weft/aggregate/math/sort_loops.h"

#include <cstdint>

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

constexpr std::size_t kLanes = WEFT_LANES;
constexpr std::size_t kSortedTogether = 16;

using Values [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;
using Words [[gnu::vector_size(4 * kLanes)]] = int;

// What stands for rows that are missing.
inline Values infinity() {
  const Words bits = Words{} + 0x7f800000;
  return reinterpret_cast<const Values&>(bits);
}

template <std::size_t kLow, std::size_t kHigh>
[[gnu::always_inline]] inline void compare(Values* v) {
  const Values a = v[kLow];
  const Values b = v[kHigh];
  v[kLow] = b < a ? b : a;
  v[kHigh] = b < a ? a : b;
}

// Compares kFirst with kFirst + kDistance, then those `kStep` behind, up to kEnd.
template <std::size_t kFirst, std::size_t kEnd, std::size_t kDistance, std::size_t kStep>
[[gnu::always_inline]] inline void compare_all(Values* v) {
  if constexpr (kFirst + kDistance < kEnd) {
    compare<kFirst, kFirst + kDistance>(v);
    compare_all<kFirst + kStep, kEnd, kDistance, kStep>(v);
  }
}

// Merges two sorted halves of v[kFirst], v[kFirst + kStep], ..., in all kSize steps.
template <std::size_t kFirst, std::size_t kSize, std::size_t kStep>
[[gnu::always_inline]] inline void merge_within(Values* v) {
  constexpr std::size_t kTwice = 2 * kStep;
  if constexpr (kTwice < kSize) {
    merge_within<kFirst, kSize, kTwice>(v);
    merge_within<kFirst + kStep, kSize, kTwice>(v);
    compare_all<kFirst + kStep, kFirst + kSize, kStep, kTwice>(v);
  } else {
    compare<kFirst, kFirst + kStep>(v);
  }
}

template <std::size_t kFirst, std::size_t kSize>
[[gnu::always_inline]] inline void sort_within(Values* v) {
  if constexpr (kSize > 1) {
    sort_within<kFirst, kSize / 2>(v);
    sort_within<kFirst + kSize / 2, kSize / 2>(v);
    merge_within<kFirst, kSize, 1>(v);
  }
}

template <std::size_t kSize>
void sort_rows(Values* rows) {
  Values v[kSize];
  for (std::size_t i = 0; i < kSize; ++i) v[i] = rows[i];
  sort_within<0, kSize>(v);
  for (std::size_t i = 0; i < kSize; ++i) rows[i] = v[i];
}

// The three longest layers, of distances 4 step, 2 step and step.
void merge_far(Values* rows, std::size_t step) {
  for (std::size_t first = 0; first < step; ++first) {
    Values v[8];
    for (std::size_t i = 0; i < 8; ++i) v[i] = rows[first + i * step];
    merge_within<0, 8, 1>(v);
    for (std::size_t i = 0; i < 8; ++i) rows[first + i * step] = v[i];
  }
}

// The layers of distances 4 step, 2 step and step of `size` rows, a multiple of 8 steps. Eight rows
// come at a time; three of those before still have comparisons to make.
void merge_three_layers(Values* rows, std::size_t size, std::size_t step) {
  for (std::size_t first = 0; first < step; ++first) {
    Values* const column = rows + first;
    Values v[11];
    for (std::size_t i = 0; i < 3; ++i) v[i] = column[(i + 1) * step];
    std::size_t at = 4 * step;
    for (; at + 4 * step < size; at += 8 * step) {
      for (std::size_t i = 0; i < 8; ++i) v[3 + i] = column[at + i * step];
      compare_all<3, 11, 4, 1>(v);
      compare<1, 3>(v);
      compare<2, 4>(v);
      compare<5, 7>(v);
      compare<6, 8>(v);
      compare_all<0, 8, 1, 2>(v);
      for (std::size_t i = 0; i < 8; ++i) column[at + i * step - 3 * step] = v[i];
      for (std::size_t i = 0; i < 3; ++i) v[i] = v[8 + i];
    }
    for (std::size_t i = 0; i < 4; ++i) v[3 + i] = column[at + i * step];
    compare<1, 3>(v);
    compare<2, 4>(v);
    compare_all<0, 6, 1, 2>(v);
    for (std::size_t i = 0; i < 7; ++i) column[at + i * step - 3 * step] = v[i];
  }
}

// The layers of distances 2 step and step, in the same way: four rows at a time, and one of those
// before.
void merge_two_layers(Values* rows, std::size_t size, std::size_t step) {
  for (std::size_t first = 0; first < step; ++first) {
    Values* const column = rows + first;
    Values v[5];
    v[0] = column[step];
    std::size_t at = 2 * step;
    for (; at + 2 * step < size; at += 4 * step) {
      for (std::size_t i = 0; i < 4; ++i) v[1 + i] = column[at + i * step];
      compare<1, 3>(v);
      compare<2, 4>(v);
      compare<0, 1>(v);
      compare<2, 3>(v);
      for (std::size_t i = 0; i < 4; ++i) column[at + i * step - step] = v[i];
      v[0] = v[4];
    }
    for (std::size_t i = 0; i < 2; ++i) v[1 + i] = column[at + i * step];
    compare<0, 1>(v);
    for (std::size_t i = 0; i < 3; ++i) column[at + i * step - step] = v[i];
  }
}

// `size` rows, of which each half is sorted. REQUIRES: a power of two from 32 on.
void merge(Values* rows, std::size_t size) {
  std::size_t step = size / 8;
  merge_far(rows, step);
  while (step > 1) {
    // 2, 3, 4 or 5 layers are left: two at a time, and once three if they are odd.
    const bool odd = step == 8 || step == 32;
    step /= odd ? 8 : 4;
    if (odd) {
      merge_three_layers(rows, size, step);
    } else {
      merge_two_layers(rows, size, step);
    }
  }
}

void sort_any(Values* rows, std::size_t size) {
  if (size <= 2) return sort_rows<2>(rows);
  if (size <= 4) return sort_rows<4>(rows);
  if (size <= 8) return sort_rows<8>(rows);
  for (std::size_t at = 0; at < size; at += kSortedTogether) {
    sort_rows<kSortedTogether>(rows + at);
  }
  for (std::size_t merged = 2 * kSortedTogether; merged <= size; merged *= 2) {
    for (std::size_t at = 0; at < size; at += merged) merge(rows + at, merged);
  }
}

// The first `count` <= kLanes values, one by one where they are fewer; NaN as infinity, -0 as 0.
inline Values load(const float* values, std::size_t count) {
  Values result{};
  if (count == kLanes) {
    result = *reinterpret_cast<const Values*>(values);
  } else {
    for (std::size_t i = 0; i < count; ++i) result[i] = values[i];
  }
  constexpr int kSign = INT32_MIN;
  constexpr int kInfinityBits = 0x7f800000;
  Words bits;
  __builtin_memcpy(&bits, &result, sizeof bits);
  bits = bits == kSign ? Words{} : bits;
  bits = (bits & ~kSign) > kInfinityBits ? Words{} + kInfinityBits : bits;
  __builtin_memcpy(&result, &bits, sizeof bits);
  return result;
}

inline void store(const Values& row, float* values, std::size_t count) {
  if (count == kLanes) {
    *reinterpret_cast<Values*>(values) = row;
    return;
  }
  for (std::size_t i = 0; i < count; ++i) values[i] = row[i];
}

// Rows are fetched so many columns ahead of their use: they are as many streams, more than the
// processor follows by itself.
constexpr std::size_t kAhead = 128;

// Calls take(sorted rows, first column, how many) for all columns, some at a time.
template <class Take>
[[gnu::always_inline]] inline void for_sorted(const SortedTable& table, const Take& take) {
  std::size_t size = 2;
  while (size < table.count) size *= 2;
  Values sorted[kSortedRowsMax];
  for (std::size_t at = 0; at < table.columns; at += kLanes) {
    const std::size_t left = table.columns - at;
    const std::size_t lanes = left < kLanes ? left : kLanes;
    for (std::size_t row = 0; row < table.count; ++row) {
      const float* const from = table.rows[row] + at;
      __builtin_prefetch(from + kAhead);
      sorted[row] = load(from, lanes);
    }
    for (std::size_t row = table.count; row < size; ++row) sorted[row] = infinity();
    sort_any(sorted, size);
    take(sorted, at, lanes);
  }
}

void sort(const SortedTable& table, RowRange kept, float* out, std::size_t stride) {
  for_sorted(table, [&](const Values* sorted, std::size_t at, std::size_t lanes) {
    for (std::size_t row = kept.begin; row < kept.end; ++row) {
      store(sorted[row], out + (row - kept.begin) * stride + at, lanes);
    }
  });
}

void means(const SortedTable& table, RowRange kept, float* out) {
  const auto count = static_cast<double>(kept.end - kept.begin);
  for_sorted(table, [&](const Values* sorted, std::size_t at, std::size_t lanes) {
    double sums[kLanes] = {};
    for (std::size_t row = kept.begin; row < kept.end; ++row) {
      for (std::size_t i = 0; i < kLanes; ++i) sums[i] += static_cast<double>(sorted[row][i]);
    }
    for (std::size_t i = 0; i < lanes; ++i) out[at + i] = static_cast<float>(sums[i] / count);
  });
}

}  // namespace

extern const SortLoops WEFT_LOOPS_NAME(sort_loops) = {.sort = sort, .means = means};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
