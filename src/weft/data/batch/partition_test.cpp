#include "weft/data/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_plugin_table.h"

namespace weft::partition_test {
namespace {

using testing::HasSubstr;

using Parts = std::vector<std::vector<std::int64_t>>;

// `count` samples of ten labels in turn.
std::vector<std::int64_t> ten_labels(std::size_t count) {
  std::vector<std::int64_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = static_cast<std::int64_t>(i % 10);
  return labels;
}

Parts parts_of(const std::string& text, std::size_t samples, std::size_t members,
               std::uint64_t seed = 1) {
  return *Partition::parse(text)->parts(ten_labels(samples), members, seed);
}

std::set<std::int64_t> labels_of(const std::vector<std::int64_t>& part) {
  std::set<std::int64_t> labels;
  for (const std::int64_t sample : part) labels.insert(sample % 10);
  return labels;
}

TEST(Partition, NamesAndOptionsAreWords) { EXPECT_EQ(plugin_table_fault(partitions()), ""); }

TEST(Partition, EverySampleHasOneMember) {
  for (const char* const text : {"equal", "dirichlet", "dirichlet:alpha=0.001", "labels:count=3",
                                 "quantity:alpha=0.01", "quantity"}) {
    for (const std::size_t members : {1U, 7U, 60U}) {
      const Parts parts = parts_of(text, 200, members);
      std::vector<std::int64_t> all;
      for (const std::vector<std::int64_t>& part : parts) {
        EXPECT_FALSE(part.empty()) << text;
        EXPECT_TRUE(std::ranges::is_sorted(part)) << text;
        all.insert(all.end(), part.begin(), part.end());
      }
      std::ranges::sort(all);
      std::vector<std::int64_t> expected(200);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected) << text << " " << members;
      EXPECT_EQ(parts, parts_of(text, 200, members)) << text;
      if (members > 1) {
        EXPECT_NE(parts, parts_of(text, 200, members, 2)) << text;
      }
    }
  }
}

TEST(Partition, EqualPartsAreEqual) {
  for (const std::vector<std::int64_t>& part : parts_of("equal", 203, 10)) {
    EXPECT_NEAR(static_cast<double>(part.size()), 20.3, 1);
  }
}

TEST(Partition, PiecesHoldFewLabels) {
  // Ten members with two pieces of 50 each: a label has 100 samples, so a piece lies in one.
  for (const std::vector<std::int64_t>& part : parts_of("labels:count=2", 1000, 10)) {
    EXPECT_EQ(part.size(), 100U);
    EXPECT_LE(labels_of(part).size(), 2U);
  }
}

// The variance of a share of Dirichlet(alpha, ..., alpha) of n is (n - 1) / (n^2 (n alpha + 1)).
TEST(Partition, SharesOfALabelVaryAsDirichletSays) {
  for (const double alpha : {0.1, 1.0, 20.0}) {
    constexpr std::size_t kMembers = 8;
    constexpr int kSeeds = 60;
    const std::string text = "dirichlet:alpha=" + std::to_string(alpha);
    double squares = 0;
    double mean = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const Parts parts = parts_of(text, 5000, kMembers, static_cast<std::uint64_t>(seed));
      for (const std::vector<std::int64_t>& part : parts) {
        for (std::int64_t label = 0; label < 10; ++label) {
          const auto count = std::ranges::count_if(
              part, [label](std::int64_t sample) { return sample % 10 == label; });
          const double share = static_cast<double>(count) / 500;
          mean += share;
          squares += (share - 1.0 / kMembers) * (share - 1.0 / kMembers);
        }
      }
    }
    constexpr double kCount = 10.0 * kMembers * kSeeds;
    EXPECT_NEAR(mean / kCount, 1.0 / kMembers, 1e-9);
    const double expected = (kMembers - 1) / (64.0 * (kMembers * alpha + 1));
    EXPECT_NEAR(squares / kCount, expected, 0.1 * expected) << alpha;
  }
}

TEST(Partition, TooFewSamplesAreRefused) {
  const auto refused = [](const std::string& text, std::size_t samples, std::size_t members) {
    return Partition::parse(text)->parts(ten_labels(samples), members, 1).status().message();
  };
  EXPECT_THAT(refused("equal", 3, 4), HasSubstr("at least 4 samples"));
  EXPECT_THAT(refused("labels:count=2", 7, 4), HasSubstr("at least 8 samples"));
  EXPECT_THAT(Partition::parse("dirichlett").status().message(), HasSubstr("dirichlet"));
  EXPECT_FALSE(Partition::parse("dirichlet:alpha=0").ok());
  EXPECT_TRUE(Partition::parse("shared")->is_shared());
}

}  // namespace
}  // namespace weft::partition_test
