// The loops of every instruction set against plain ones.
#include "weft/aggregate/math/aggregate_loops.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/aggregate/math/test_random_values.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"

namespace weft::aggregate_loops_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <class Value, class Bits>
void expect_same_bits(const std::vector<Value>& got, const std::vector<Value>& want, Bits /*as*/) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::bit_cast<Bits>(got[i]), std::bit_cast<Bits>(want[i])) << i << ": " << got[i];
  }
}

double plain_distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::array<double, 8> partial{};
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    partial[i % 8] += difference * difference;
  }
  double sum = 0;
  for (const double each : partial) sum += each;
  return sum;
}

TEST(AggregateLoops, DistancesAddUpInTheStatedOrder) {
  Rng rng(1);
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 100U, 1024U}) {
      std::vector<std::vector<float>> points(8, std::vector<float>(size));
      std::array<const float*, 8> places{};
      for (std::size_t i = 0; i < points.size(); ++i) {
        for (float& value : points[i]) value = static_cast<float>(rng.normal());
        places[i] = points[i].data();
      }
      std::vector<double> sums(16);
      loops->distances(places.data(), places.data() + 4, size, sums.data());
      std::vector<double> want;
      for (std::size_t j = 0; j < 4; ++j) {
        for (std::size_t k = 4; k < 8; ++k) want.push_back(plain_distance(points[j], points[k]));
      }
      expect_same_bits(sums, want, std::uint64_t{});
    }
  }
}

TEST(AggregateLoops, SortsColumnsOfAnyNumberOfRows) {
  Rng rng(2);
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    for (std::size_t rows = 1; rows <= 70; ++rows) {
      const std::size_t stride = 40;
      const std::size_t count = 33;
      std::vector<float> values = random_values_with_ties(rows * stride, rng);
      std::vector<float> want = values;
      for (std::size_t i = 0; i < count; ++i) {
        std::vector<float> column(rows);
        for (std::size_t row = 0; row < rows; ++row) column[row] = values[row * stride + i];
        std::ranges::sort(column);
        for (std::size_t row = 0; row < rows; ++row) want[row * stride + i] = column[row];
      }
      loops->sort(values.data(), rows, stride, count);
      expect_same_bits(values, want, std::uint32_t{});
    }
  }
}

TEST(AggregateLoops, SumsAreInDoubleAndRoundOnce) {
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    std::vector<double> sums(21, 1);
    const std::vector<float> values(21, 0.1F);
    loops->add(sums.data(), values.data(), 1.0 / 3, 21);
    EXPECT_THAT(sums, testing::Each(1 + 1.0 / 3 * static_cast<double>(0.1F)));
    sums = {std::numeric_limits<double>::quiet_NaN(), -0.0, -1e-60, 1e300, -1e300, 0.1};
    std::vector<float> out(6);
    loops->round(sums.data(), out.data(), 6);
    const std::vector<float> rounded = {kInfinity, 0.0F, 0.0F, kInfinity, -kInfinity, 0.1F};
    expect_same_bits(out, rounded, std::uint32_t{});
    const std::vector<float> single = {
        std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, kInfinity, -kInfinity, 0.1F};
    loops->copy(single.data(), out.data(), 6);
    expect_same_bits(out, rounded, std::uint32_t{});
  }
}

}  // namespace
}  // namespace weft::aggregate_loops_test
