// A slice of what explore_views runs, small enough for every change.
#include "weft/sim/membership/explorer.h"

#include <gtest/gtest.h>

namespace weft::explorer_test {
namespace {

void expect_sound(const ExploreOptions& options, std::uint64_t worlds_least) {
  const ExploreResult result = explore(options);
  std::string way;
  for (const std::string& step : result.path) way += step + "\n";
  EXPECT_EQ(result.fault, "") << way;
  EXPECT_TRUE(result.complete);
  EXPECT_GE(result.worlds, worlds_least);
}

TEST(Explorer, ThreeMembersAndACrash) { expect_sound({}, 100); }

TEST(Explorer, FourMembersACrashAndOneProposer) {
  ExploreOptions options;
  options.members = 4;
  options.ballots_in_all = 1;
  expect_sound(options, 1000);
}

TEST(Explorer, TwoMembersAJoinerAndACrash) {
  ExploreOptions options;
  options.members = 2;
  options.joiners = 1;
  expect_sound(options, 100);
}

}  // namespace
}  // namespace weft::explorer_test
