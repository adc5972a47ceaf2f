// Random fills: the published generator, the same numbers however they are made, and distributions
// whose moments and counts are what they should be (bounds of about 5 standard deviations).
#include "weft/kernel/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/kernel/core/rows.h"

namespace weft::random_test {
namespace {

using ::testing::ElementsAre;

// The known-answer vectors of Random123 for Philox4x32-10.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_THAT(philox4x32({0, 0, 0, 0}, {0, 0}),
              ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
  constexpr std::uint32_t kOnes = 0xffffffffU;
  EXPECT_THAT(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
  EXPECT_THAT(
      philox4x32({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}),
      ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

// Word i of a stream, from the generator of base/rng.h.
std::uint32_t word_of(std::uint64_t seed, std::uint64_t offset, std::uint64_t i) {
  const std::uint64_t block = offset + i / 64 * 16 + i % 16;
  const PhiloxCounter words = philox4x32(
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U), 0, 0x72616e64U},
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)});
  return words[i % 64 / 16];
}

TEST(RandomFill, IsAFunctionOfSeedOffsetAndPosition) {
  constexpr std::uint64_t kSeed = 0x123456789abcdefULL;
  constexpr std::uint64_t kOffset = (1ULL << 32U) - 96;
  Generator generator(kSeed, kOffset);
  Array x = Array::empty({2501});
  fill_uniform(x, generator);
  for (std::uint64_t i = 0; i < 2501; ++i) {
    ASSERT_EQ(x.data<float>()[i], to_unit_float(word_of(kSeed, kOffset, i)));
  }
  EXPECT_EQ(generator.offset(), kOffset + 40 * 16);
  EXPECT_EQ(generator.seed(), kSeed);
  Array y = Array::empty({70}, DType::kF64);
  fill_uniform(y, generator);
  for (std::uint64_t i = 0; i < 70; ++i) {
    const std::uint64_t word = (std::uint64_t{word_of(kSeed, kOffset + 640, 2 * i)} << 32U) |
                               word_of(kSeed, kOffset + 640, 2 * i + 1);
    ASSERT_EQ(y.data<double>()[i], static_cast<double>(word >> 11U) / 9007199254740992.0);
  }
  Generator again(kSeed, kOffset);
  Array z = Array::empty({100});
  fill_uniform(z, again);
  EXPECT_EQ(z.to_vector<float>(), x.slice(0, 0, 100).to_vector<float>());
}

TEST(RandomFill, NormalsAreBoxMullerOfTheWords) {
  Generator generator(7);
  Array x = Array::empty({1000});
  fill_normal(x, generator);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t group = i / 64 * 64;
    const std::uint64_t pair = i % 32;
    const double u = (word_of(7, 0, group + pair) + 1.0) / 4294967296.0;
    const double angle = 6.283185307179586 * word_of(7, 0, group + 32 + pair) / 4294967296.0;
    const double radius = std::sqrt(-2 * std::log(u));
    const double want = radius * (i % 64 < 32 ? std::cos(angle) : std::sin(angle));
    ASSERT_NEAR(static_cast<double>(x.data<float>()[i]), want, 2e-6) << i;
  }
}

TEST(RandomFill, DoesNotDependOnThreads) {
  const auto fill_all = [] {
    Generator generator(11);
    std::vector<double> all;
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
      Array x = Array::empty({20'011}, dtype);
      fill_normal(x, generator);
      Array y = Array::empty({20'011}, dtype);
      fill_uniform(y, generator);
      for (const Array& part : {x, y}) {
        const std::vector<double> values = part.to(DType::kF64).to_vector<double>();
        all.insert(all.end(), values.begin(), values.end());
      }
    }
    return all;
  };
  const std::vector<double> one = fill_all();
  set_thread_count(3);
  const std::vector<double> three = fill_all();
  set_thread_count(1);
  EXPECT_EQ(one, three);
}

struct Moments {
  double mean = 0;
  double variance = 0;
  double skewness = 0;
  double kurtosis = 0;
};

Moments moments_of(const Array& x) {
  const std::vector<double> values = x.to(DType::kF64).to_vector<double>();
  const auto n = static_cast<double>(values.size());
  Moments m;
  for (const double value : values) m.mean += value / n;
  for (const double value : values) {
    const double d = value - m.mean;
    m.variance += d * d / n;
    m.skewness += d * d * d / n;
    m.kurtosis += d * d * d * d / n;
  }
  m.skewness /= std::pow(m.variance, 1.5);
  m.kurtosis /= m.variance * m.variance;
  return m;
}

TEST(RandomFill, HasTheMomentsOfItsDistribution) {
  Generator generator(5);
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    Array x = Array::empty({400'000}, dtype);
    fill_normal(x, generator);
    const Moments normal = moments_of(x);
    EXPECT_NEAR(normal.mean, 0.0, 0.008);
    EXPECT_NEAR(normal.variance, 1.0, 0.012);
    EXPECT_NEAR(normal.skewness, 0.0, 0.02);
    EXPECT_NEAR(normal.kurtosis, 3.0, 0.04);
    fill_uniform(x, generator);
    const Moments uniform = moments_of(x);
    EXPECT_NEAR(uniform.mean, 0.5, 0.0025);
    EXPECT_NEAR(uniform.variance, 1.0 / 12, 0.0007);
    EXPECT_NEAR(uniform.kurtosis, 1.8, 0.01);
  }
}

double chi_square(const std::vector<std::int64_t>& counts, double expected) {
  double total = 0;
  for (const std::int64_t count : counts) {
    total += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  }
  return total / expected;
}

TEST(RandomFill, FallsIntoEveryCellAsOften) {
  Generator generator(6);
  constexpr std::int64_t kCells = 100;
  constexpr std::int64_t kCount = 200'000;
  // 99 degrees of freedom: mean 99, deviation 14.
  const auto expect_even = [&](const Array& x, double scale) {
    std::vector<std::int64_t> counts(kCells);
    for (const double value : x.to(DType::kF64).to_vector<double>()) {
      const auto cell = static_cast<std::int64_t>(std::floor(value * scale));
      ASSERT_GE(cell, 0);
      ASSERT_LT(cell, kCells);
      ++counts[static_cast<std::size_t>(cell)];
    }
    const double statistic = chi_square(counts, static_cast<double>(kCount) / kCells);
    EXPECT_GT(statistic, 45.0);
    EXPECT_LT(statistic, 170.0);
  };
  Array uniform = Array::empty({kCount});
  fill_uniform(uniform, generator);
  expect_even(uniform, kCells);
  Array integers = Array::empty({kCount}, DType::kI32);
  fill_integers(integers, 0, kCells, generator);
  expect_even(integers, 1.0);
  // The normal distribution, through its own distribution function.
  Array normal = Array::empty({kCount});
  fill_normal(normal, generator);
  Array quantiles = normal.to(DType::kF64);
  for (double& value : quantiles.flat<double>()) value = 0.5 * std::erfc(-value / std::sqrt(2.0));
  expect_even(quantiles, kCells);
}

TEST(RandomFill, HalvesStayBelowOneAndUseTheirBits) {
  Generator generator(8);
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    Array x = Array::empty({100'000}, dtype);
    fill_uniform(x, generator);
    const double cells = dtype == DType::kBF16 ? 256.0 : 2048.0;
    double largest = 0;
    for (const double value : x.to(DType::kF64).to_vector<double>()) {
      ASSERT_EQ(value * cells, std::floor(value * cells));
      largest = std::max(largest, value);
    }
    EXPECT_EQ(largest, 1.0 - 1.0 / cells);
  }
}

TEST(RandomFill, IntegersCoverTheirRangeAndBernoulliItsProbability) {
  Generator generator(9);
  Array x = Array::empty({2000}, DType::kI64);
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  fill_integers(x, kMin, kMax, generator);
  const std::vector<std::int64_t> wide = x.to_vector<std::int64_t>();
  EXPECT_GT(*std::max_element(wide.begin(), wide.end()), kMax / 4 * 3);
  EXPECT_LT(*std::min_element(wide.begin(), wide.end()), kMin / 4 * 3);
  fill_integers(x, -3, -2, generator);
  EXPECT_EQ(x.to_vector<std::int64_t>(), std::vector<std::int64_t>(2000, -3));
  const auto share = [&](double p) {
    Array flags = Array::empty({100'000}, DType::kBool);
    fill_bernoulli(flags, p, generator);
    double hits = 0;
    for (const bool flag : flags.to_vector<bool>()) hits += flag ? 1 : 0;
    return hits / 100'000;
  };
  EXPECT_EQ(share(0.0), 0.0);
  EXPECT_EQ(share(1.0), 1.0);
  EXPECT_NEAR(share(0.3), 0.3, 0.008);
  Array each = Array::empty({3, 40'000});
  Array probabilities = Array::from(std::vector<double>{0, 0.25, 1}, {3, 1}).expand({3, 40'000});
  fill_bernoulli(each, probabilities, generator);
  EXPECT_EQ(moments_of(each.select(0, 0)).mean, 0.0);
  EXPECT_NEAR(moments_of(each.select(0, 1)).mean, 0.25, 0.012);
  EXPECT_NEAR(moments_of(each.select(0, 2)).mean, 1.0, 1e-9);
}

TEST(RandomFill, PermutationsAreAllAsLikely) {
  Generator generator(10);
  std::vector<std::int64_t> counts(24);
  for (int i = 0; i < 12'000; ++i) {
    Array order = Array::empty({4}, DType::kI64);
    fill_permutation(order, generator);
    std::vector<std::int64_t> values = order.to_vector<std::int64_t>();
    std::int64_t number = 0;
    for (std::size_t a = 0; a < 4; ++a) {
      std::int64_t smaller = 0;
      for (std::size_t b = a + 1; b < 4; ++b) smaller += values[b] < values[a] ? 1 : 0;
      number = number * static_cast<std::int64_t>(4 - a) + smaller;
    }
    ++counts[static_cast<std::size_t>(number)];
  }
  const double statistic = chi_square(counts, 500);  // 23 degrees of freedom
  EXPECT_LT(statistic, 60.0);
  EXPECT_GT(statistic, 5.0);
  Array large = Array::empty({10'000}, DType::kI64);
  fill_permutation(large, generator);
  std::vector<std::int64_t> values = large.to_vector<std::int64_t>();
  std::sort(values.begin(), values.end());
  for (std::int64_t i = 0; i < 10'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
}

TEST(RandomFill, RefusesTypesWithoutTheDistribution) {
  Generator generator(1);
  Array integers = Array::zeros({3}, DType::kI64);
  EXPECT_THROW(fill_uniform(integers, generator), std::invalid_argument);
  EXPECT_THROW(fill_normal(integers, generator), std::invalid_argument);
  Array flags = Array::zeros({3}, DType::kBool);
  EXPECT_THROW(fill_integers(flags, 0, 2, generator), std::invalid_argument);
  Array floats = Array::zeros({3});
  EXPECT_THROW(fill_permutation(floats, generator), std::invalid_argument);
  Array none = Array::zeros({0});
  fill_uniform(none, generator);
  EXPECT_EQ(generator.offset(), 0U);
  EXPECT_EQ(Generator(1, 17).offset(), 32U);
}

}  // namespace
}  // namespace weft::random_test
