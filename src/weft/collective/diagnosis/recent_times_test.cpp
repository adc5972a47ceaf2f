#include "weft/collective/diagnosis/recent_times.h"

#include <gtest/gtest.h>

namespace weft::recent_times_test {
namespace {

TEST(RecentTimes, MediansLeaveOutWhatIsNotKnown) {
  RecentTimes times;
  EXPECT_TRUE(times.medians().empty());
  times.add({3, -1, 1});
  times.add({1, -1, -1});
  times.add({2, -1, 9});
  // The median of two values is the smaller one.
  EXPECT_EQ(times.medians(), (std::vector<double>{2, -1, 1}));
}

TEST(RecentTimes, ForgetsOldRoundsAndOtherNumbersOfMembers) {
  RecentTimes times;
  for (int i = 0; i < 16; ++i) times.add({100});
  for (int i = 0; i < 9; ++i) times.add({1});
  EXPECT_EQ(times.rounds(), 16U);
  EXPECT_EQ(times.medians(), (std::vector<double>{1}));
  times.add({5, 6});
  EXPECT_EQ(times.rounds(), 1U);
  EXPECT_EQ(times.medians(), (std::vector<double>{5, 6}));
}

}  // namespace
}  // namespace weft::recent_times_test
