// The sorting of every instruction set against std::sort.
#include "weft/aggregate/math/sort_loops.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/aggregate/math/test_random_values.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"

namespace weft::sort_loops_test {
namespace {

constexpr std::size_t kStride = 40;
constexpr std::size_t kCount = 35;  // not a number of whole registers

std::vector<float> column_of(const std::vector<float>& values, std::size_t rows, std::size_t i) {
  std::vector<float> column(rows);
  for (std::size_t row = 0; row < rows; ++row) column[row] = values[row * kStride + i];
  return column;
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

std::vector<const float*> rows_of(const std::vector<float>& values, std::size_t rows) {
  std::vector<const float*> starts(rows);
  for (std::size_t row = 0; row < rows; ++row) starts[row] = values.data() + row * kStride;
  return starts;
}

// How many values of the rows `kept`, and of their means, differ in a bit from those of std::sort,
// or lie where none is.
int differences(const SortLoops& loops, const std::vector<float>& values, std::size_t rows,
                RowRange kept) {
  constexpr float kUntouched = -7.5F;
  const std::vector<const float*> starts = rows_of(values, rows);
  const SortedTable table{starts.data(), rows, kCount};
  const std::size_t count = kept.end - kept.begin;
  std::vector<float> sorted(count * kStride, kUntouched);
  std::vector<float> means(kStride, kUntouched);
  loops.sort(table, kept, sorted.data(), kStride);
  loops.means(table, kept, means.data());
  int result = 0;
  for (std::size_t i = 0; i < kStride; ++i) {
    std::vector<float> want = column_of(values, rows, i);
    std::ranges::sort(want);
    double sum = 0;
    for (std::size_t row = 0; row < count; ++row) {
      const float value = want[kept.begin + row];
      sum += value;
      result += same_bits(sorted[row * kStride + i], i < kCount ? value : kUntouched) ? 0 : 1;
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(count));
    const bool none = i < kCount && mean != mean && means[i] != means[i];
    result += none || same_bits(means[i], i < kCount ? mean : kUntouched) ? 0 : 1;
  }
  return result;
}

TEST(SortLoops, SortsColumnsOfAnyNumberOfRows) {
  Rng rng(2);
  for (const auto& [isa, loops] : loops_that_run(sort_loops_tables)) {
    for (std::size_t rows = 1; rows <= 70; ++rows) {
      const std::vector<float> values = random_values_with_ties(rows * kStride, rng);
      EXPECT_EQ(differences(*loops, values, rows, {0, rows}), 0) << rows << " rows";
    }
    for (const std::size_t rows : {127U, 128U, 129U, 200U, 255U, 256U}) {
      const std::vector<float> values = random_values_with_ties(rows * kStride, rng);
      EXPECT_EQ(differences(*loops, values, rows, {0, rows}), 0) << rows << " rows";
    }
  }
}

TEST(SortLoops, StoresTheRowsThatAreKept) {
  Rng rng(5);
  for (const auto& [isa, loops] : loops_that_run(sort_loops_tables)) {
    for (const std::size_t rows : {3U, 16U, 20U, 64U}) {
      const std::vector<float> values = random_values_with_ties(rows * kStride, rng);
      EXPECT_EQ(differences(*loops, values, rows, {rows / 3, rows - rows / 3}), 0);
      EXPECT_EQ(differences(*loops, values, rows, {rows - 1, rows}), 0);
    }
  }
}

// A network that sorts all columns of zeros and ones sorts all columns (Knuth, "The art of computer
// programming", volume 3, 5.3.4, theorem Z).
TEST(SortLoops, SortsAllColumnsOfZerosAndOnes) {
  constexpr std::size_t kRows = 11;
  for (const auto& [isa, loops] : loops_that_run(sort_loops_tables)) {
    for (std::uint32_t first = 0; first < 1U << kRows; first += kCount) {
      std::vector<float> values(kRows * kStride);
      for (std::size_t i = 0; i < kCount; ++i) {
        for (std::size_t row = 0; row < kRows; ++row) {
          const std::uint32_t bits = first + static_cast<std::uint32_t>(i);
          values[row * kStride + i] = (bits >> row & 1U) == 1 ? 1.0F : 0.0F;
        }
      }
      ASSERT_EQ(differences(*loops, values, kRows, {0, kRows}), 0);
    }
  }
}

TEST(SortLoops, TakesNanAsInfinityAndOneZero) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [isa, loops] : loops_that_run(sort_loops_tables)) {
    std::vector<float> values(5 * kStride, 1.0F);
    for (std::size_t i = 0; i < kCount; ++i) {
      const float column[] = {nan, -0.0F, -nan, -kInfinity, 0.0F};
      for (std::size_t row = 0; row < 5; ++row) values[row * kStride + i] = column[row];
    }
    const std::vector<const float*> starts = rows_of(values, 5);
    std::vector<float> sorted(5 * kStride);
    loops->sort({starts.data(), 5, kCount}, {0, 5}, sorted.data(), kStride);
    for (std::size_t i = 0; i < kCount; ++i) {
      const float want[] = {-kInfinity, 0.0F, 0.0F, kInfinity, kInfinity};
      for (std::size_t row = 0; row < 5; ++row) {
        EXPECT_TRUE(same_bits(sorted[row * kStride + i], want[row])) << i << ", row " << row;
      }
    }
  }
}

}  // namespace
}  // namespace weft::sort_loops_test
