// The sorting of every instruction set against std::sort.
#include "weft/aggregate/math/sort_loops.h"

#include <algorithm>
#include <bit>
#include <cstdint>
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

// How many values of the rows `kept` differ in a bit from those of std::sort, or have no place.
int differences(const SortLoops& loops, std::vector<float> values, std::size_t rows,
                RowRange kept) {
  const std::vector<float> before = values;
  loops.sort(values.data(), rows, kStride, kCount, kept);
  int result = 0;
  for (std::size_t i = 0; i < kStride; ++i) {
    std::vector<float> want = column_of(before, rows, i);
    if (i < kCount) std::ranges::sort(want);
    const std::vector<float> got = column_of(values, rows, i);
    const bool beyond = i >= kCount;
    for (std::size_t row = beyond ? 0 : kept.begin; row < (beyond ? rows : kept.end); ++row) {
      const auto bits = std::bit_cast<std::uint32_t>(got[row]);
      result += bits == std::bit_cast<std::uint32_t>(want[row]) ? 0 : 1;
    }
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

}  // namespace
}  // namespace weft::sort_loops_test
