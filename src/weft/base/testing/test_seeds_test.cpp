#include "weft/base/testing/test_seeds.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::test_seeds_test {
namespace {

std::vector<std::uint64_t> seeds_of(const char* slice) {
  const TestSeeds seeds(11, 60, slice);
  EXPECT_EQ(seeds.whole(), seeds.size() == 50);
  return {seeds.begin(), seeds.end()};
}

TEST(TestSeeds, AreAllWhereNobodyAsksForASlice) {
  const std::vector<std::uint64_t> all = seeds_of(nullptr);
  ASSERT_EQ(all.size(), 50U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], 11 + i);
  for (const char* odd : {"", "many", "0:abc", "-3:abc", "50:abc", "70:abc"}) {
    EXPECT_EQ(seeds_of(odd), all) << odd;
  }
}

TEST(TestSeeds, ASliceHasSoManyDifferentOnesThatTheTextDraws) {
  const std::vector<std::uint64_t> some = seeds_of("6:f567078c");
  ASSERT_EQ(some.size(), 6U);
  for (std::size_t i = 0; i < some.size(); ++i) {
    EXPECT_GE(some[i], 11U);
    EXPECT_LE(some[i], 60U);
    EXPECT_TRUE(i == 0 || some[i] > some[i - 1]);
  }
  EXPECT_EQ(seeds_of("6:f567078c"), some);
}

// Commit after commit, none is left out for ever.
TEST(TestSeeds, OtherTextsDrawOthersAndInTheEndAll) {
  std::vector<int> drawn(61);
  for (int commit = 0; commit < 200; ++commit) {
    for (const std::uint64_t seed : seeds_of(("6:" + std::to_string(commit)).c_str()))
      ++drawn[seed];
  }
  // 24 times each on average.
  for (std::size_t seed = 11; seed <= 60; ++seed) {
    EXPECT_GT(drawn[seed], 4) << seed;
    EXPECT_LT(drawn[seed], 60) << seed;
  }
}

}  // namespace
}  // namespace weft::test_seeds_test
