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

// In the order that the header states.
double plain_distance(const std::vector<float>& a, const std::vector<float>& b) {
  std::array<double, 16> partial{};
  const std::size_t whole = a.size() / 16 * 16;
  for (std::size_t run = 0; run < whole; run += kMeasuredRun) {
    std::array<float, 16> sums{};
    for (std::size_t i = run; i < std::min(whole, run + kMeasuredRun); ++i) {
      sums[i % 16] += (a[i] - b[i]) * (a[i] - b[i]);
    }
    for (std::size_t i = 0; i < 16; ++i) partial[i] += static_cast<double>(sums[i]);
  }
  double sum = 0;
  for (const double each : partial) sum += each;
  for (std::size_t i = whole; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum;
}

double exact_distance(const std::vector<float>& a, const std::vector<float>& b) {
  long double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const long double difference = static_cast<long double>(a[i]) - static_cast<long double>(b[i]);
    sum += difference * difference;
  }
  return static_cast<double>(sum);
}

TEST(AggregateLoops, DistancesAddUpInTheStatedOrder) {
  Rng rng(1);
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    for (const std::size_t size : {0U, 1U, 15U, 16U, 17U, 100U, 300U, 1024U}) {
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

TEST(AggregateLoops, DistancesKeepTheirDigits) {
  Rng rng(4);
  std::vector<float> one(1021);
  std::vector<float> near_one(1021);
  for (std::size_t i = 0; i < one.size(); ++i) {
    one[i] = static_cast<float>(100 + rng.normal());
    near_one[i] = one[i] + static_cast<float>(1e-4 * rng.normal());
  }
  const double exact = exact_distance(one, near_one);
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    const std::array<const float*, 4> from = {one.data(), one.data(), one.data(), one.data()};
    const std::array<const float*, 4> to = {near_one.data(), near_one.data(), near_one.data(),
                                            near_one.data()};
    std::array<double, 16> sums{};
    loops->distances(from.data(), to.data(), one.size(), sums.data());
    EXPECT_NEAR(sums[5] / exact, 1, 2e-6);
    EXPECT_NEAR(loops->wide_distance(one.data(), near_one.data(), one.size()) / exact, 1, 1e-14);
  }
}

TEST(AggregateLoops, SumsAreInDoubleAndCopiesHaveOneOrder) {
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    std::vector<double> sums(21, 1);
    const std::vector<float> values(21, 0.1F);
    loops->add(sums.data(), values.data(), 1.0 / 3, 21);
    EXPECT_THAT(sums, testing::Each(1 + 1.0 / 3 * static_cast<double>(0.1F)));
    std::vector<float> out(6);
    const std::vector<float> rounded = {kInfinity, 0.0F, 0.0F, kInfinity, -kInfinity, 0.1F};
    const std::vector<float> single = {
        std::numeric_limits<float>::quiet_NaN(), -0.0F, 0.0F, kInfinity, -kInfinity, 0.1F};
    loops->copy(single.data(), out.data(), 6);
    expect_same_bits(out, rounded, std::uint32_t{});
  }
}

TEST(AggregateLoops, MixesInDoubleAndRoundsOnce) {
  Rng rng(6);
  const std::vector<double> weights = {0.25, -1.5, 1.0 / 3, 1e-3, 2.75};
  for (const auto& [isa, loops] : loops_that_run(aggregate_loops_tables)) {
    for (const std::size_t columns : {0U, 1U, 15U, 16U, 31U, 32U, 33U, 100U}) {
      std::vector<std::vector<float>> inputs(weights.size(), std::vector<float>(columns));
      std::vector<const float*> places;
      for (std::vector<float>& input : inputs) {
        for (float& value : input) value = static_cast<float>(rng.normal());
        places.push_back(input.data());
      }
      std::vector<float> want(columns);
      for (std::size_t i = 0; i < columns; ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < weights.size(); ++k) {
          sum += weights[k] * static_cast<double>(inputs[k][i]);
        }
        want[i] = static_cast<float>(sum);
      }
      std::vector<float> out(columns);
      loops->mix(places.data(), weights.data(), weights.size(), out.data(), columns);
      expect_same_bits(out, want, std::uint32_t{});
    }
    // What has no order: no numbers, and zeros with a sign.
    const std::vector<float> odd(40, std::numeric_limits<float>::quiet_NaN());
    const std::vector<float> zeros(40, -0.0F);
    const double one = 1;
    std::vector<float> out(40);
    const float* place = odd.data();
    loops->mix(&place, &one, 1, out.data(), 40);
    EXPECT_THAT(out, testing::Each(kInfinity));
    place = zeros.data();
    loops->mix(&place, &one, 1, out.data(), 40);
    expect_same_bits(out, std::vector<float>(40, 0.0F), std::uint32_t{});
  }
}

}  // namespace
}  // namespace weft::aggregate_loops_test
