// Every construction against the definition: the sum of coefficients of each chunk is 1, whichever
// workers are missing.
#include "weft/code/chunk/chunk_sums.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::chunk_sums_test {
namespace {

using testing::HasSubstr;

using Make = Result<std::unique_ptr<const ChunkSums>> (*)(const ChunkCodeSize&);
constexpr Make kSolved[] = {cyclic_sums, roots_sums};

std::unique_ptr<const ChunkSums> made(Make make, std::size_t workers, std::size_t stragglers) {
  auto sums = make({workers, stragglers});
  EXPECT_TRUE(sums.ok()) << sums.status().message();
  return sums.ok() ? std::move(*sums) : nullptr;
}

// The largest difference from 1 of a chunk's coefficient in the decoded sum.
double error_of(const ChunkSums& sums, const std::vector<bool>& came) {
  const Result<ChunkDecode> decoded = sums.decode(came);
  EXPECT_TRUE(decoded.ok()) << decoded.status().message();
  if (!decoded.ok()) return 1;
  std::vector<Coefficient> totals(sums.chunks());
  for (std::size_t worker = 0; worker < sums.workers(); ++worker) {
    EXPECT_TRUE(came[worker] || decoded->coefficients[worker] == Coefficient(0));
    for (const ChunkTerm& term : sums.row(worker)) {
      totals[term.chunk] += decoded->coefficients[worker] * term.coefficient;
    }
  }
  double error = 0;
  for (const Coefficient& total : totals) error = std::max(error, std::abs(total - 1.0));
  return error;
}

std::vector<bool> without_random(std::size_t workers, std::size_t missing, Rng& rng) {
  std::vector<bool> came(workers, true);
  while (missing > 0) {
    const std::size_t worker = rng.below(workers);
    if (!came[worker]) continue;
    came[worker] = false;
    --missing;
  }
  return came;
}

void check_every_subset(const ChunkSums& sums) {
  for (std::uint32_t bits = 0; bits < 1U << sums.workers(); ++bits) {
    std::vector<bool> came;
    for (std::size_t i = 0; i < sums.workers(); ++i) came.push_back((bits >> i & 1U) != 0);
    const auto missing = static_cast<std::size_t>(std::count(came.begin(), came.end(), false));
    if (missing > sums.stragglers()) continue;
    EXPECT_LT(error_of(sums, came), 1e-9) << bits;
  }
}

TEST(ChunkSums, AnyStragglersMayBeMissingOfUpToNineWorkers) {
  for (std::size_t workers = 1; workers <= 9; ++workers) {
    for (std::size_t stragglers = 0; stragglers < workers; ++stragglers) {
      SCOPED_TRACE(fmt::format("{} of {}", stragglers, workers));
      for (const Make make : kSolved) check_every_subset(*made(make, workers, stragglers));
      if (workers % (stragglers + 1) != 0) continue;
      check_every_subset(*made(repetition_sums, workers, stragglers));
    }
  }
}

TEST(ChunkSums, RandomStragglersMayBeMissingOfManyWorkers) {
  Rng rng(1);
  for (const auto& [workers, stragglers] : {std::pair{20U, 7U}, {50U, 5U}, {64U, 3U}, {65U, 16U}}) {
    SCOPED_TRACE(fmt::format("{} of {}", stragglers, workers));
    for (const Make make : kSolved) {
      const auto sums = made(make, workers, stragglers);
      for (int i = 0; i < 10; ++i) {
        EXPECT_LT(error_of(*sums, without_random(workers, stragglers, rng)), 1e-8);
        EXPECT_LT(error_of(*sums, without_random(workers, rng.below(stragglers), rng)), 1e-8);
      }
    }
  }
}

// Those of one machine are next to each other: roots_sums() has placed them apart.
TEST(ChunkSums, NeighboursMayBeMissing) {
  for (const Make make : kSolved) {
    const auto sums = made(make, 64, 7);
    for (std::size_t first = 0; first < 57; first += 8) {
      std::vector<bool> came(64, true);
      std::fill_n(came.begin() + static_cast<std::ptrdiff_t>(first), 7, false);
      EXPECT_LT(error_of(*sums, came), 1e-8);
      EXPECT_LT(sums->decode(came)->amplification, 1e5);
    }
  }
}

TEST(ChunkSums, OneMoreMissingIsNotDecodable) {
  for (const Make make : kSolved) {
    const auto sums = made(make, 8, 2);
    std::vector<bool> came(8, true);
    came[1] = came[4] = came[5] = false;
    const Status status = sums->decode(came).status();
    EXPECT_EQ(status.code(), Code::kUnavailable);
    EXPECT_THAT(status.message(),
                HasSubstr("not decodable: 3 of 8 workers are missing, at most 2"));
  }
}

TEST(ChunkSums, RepetitionNeedsOneOfEachGroup) {
  const auto sums = made(repetition_sums, 6, 1);
  EXPECT_EQ(sums->chunks(), 3U);
  const std::vector<bool> one_each = {true, false, false, true, true, false};
  EXPECT_EQ(error_of(*sums, one_each), 0);
  EXPECT_EQ(sums->decode(one_each)->largest_coefficient, 1);
  EXPECT_EQ(sums->decode(std::vector<bool>(6, true))->amplification, 1);
  const Status status = sums->decode({true, true, false, false, true, true}).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("none of the workers 2 to 3 has sent chunk 1"));
  EXPECT_THAT(repetition_sums({6, 3}).status().message(), HasSubstr("one less than a divisor"));
}

// g = (x + 1) / 2 has the root -1: half of the chunks i and i + 1 each. Without worker 0, the
// coefficients are 1 - (-1)^i.
TEST(ChunkSums, TheRootsOfFourWorkersAndOneStragglerByHand) {
  const auto sums = made(roots_sums, 4, 1);
  for (std::size_t worker = 0; worker < 4; ++worker) {
    ASSERT_EQ(sums->row(worker).size(), 2U);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(sums->row(worker)[k].chunk, (worker + k) % 4);
      EXPECT_NEAR(std::abs(sums->row(worker)[k].coefficient - 0.5), 0, 1e-15);
    }
  }
  const auto decoded = sums->decode({false, true, true, true});
  ASSERT_TRUE(decoded.ok());
  const double expected[] = {0, 2, 0, 2};
  for (std::size_t worker = 0; worker < 4; ++worker) {
    EXPECT_NEAR(std::abs(decoded->coefficients[worker] - expected[worker]), 0, 1e-14);
  }
  EXPECT_NEAR(decoded->largest_coefficient, 2, 1e-14);
  EXPECT_NEAR(decoded->amplification, 1, 1e-14);
}

// Where one is missing at random, its code has far smaller coefficients than a random one.
TEST(ChunkSums, RootsOfUnityHaveSmallerCoefficientsThanRandomOnes) {
  Rng rng(3);
  std::vector<double> largest[2];
  const std::unique_ptr<const ChunkSums> sums[] = {made(cyclic_sums, 64, 3),
                                                   made(roots_sums, 64, 3)};
  for (int i = 0; i < 21; ++i) {
    const std::vector<bool> came = without_random(64, 3, rng);
    for (std::size_t k = 0; k < 2; ++k) {
      largest[k].push_back(sums[k]->decode(came)->largest_coefficient);
    }
  }
  for (std::vector<double>& values : largest) std::sort(values.begin(), values.end());
  EXPECT_LT(largest[1][10], 5);
  EXPECT_GT(largest[0][10], 50);
}

TEST(ChunkSums, SizesOutOfRangeAreRefused) {
  for (const Make make : {cyclic_sums, roots_sums, repetition_sums, any_sums}) {
    for (const ChunkCodeSize size : {ChunkCodeSize{0, 0}, {513, 0}, {4, 4}, {4, 99}}) {
      EXPECT_EQ(make(size).status().code(), Code::kInvalidArgument)
          << size.workers << " " << size.stragglers;
    }
  }
  EXPECT_THAT(cyclic_sums({512, 65}).status().message(), HasSubstr("at most 64"));
  EXPECT_TRUE(any_sums({512, 255}).ok());
  EXPECT_FALSE(any_sums({512, 254}).ok());
}

}  // namespace
}  // namespace weft::chunk_sums_test
