#include "weft/base/nearest_name.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace weft::nearest_name_test {
namespace {

// The distances of Damerau's paper, and of the words that textbooks count by hand.
TEST(EditDistance, CountsInsertionsDeletionsChangesAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("saturday", "sunday"), 3U);
  EXPECT_EQ(edit_distance("ab", "ba"), 1U);
  EXPECT_EQ(edit_distance("recipe", "reicpe"), 1U);
  EXPECT_EQ(edit_distance("abcd", "badc"), 2U);
  // In the restricted form no letters come between two that were swapped.
  EXPECT_EQ(edit_distance("ca", "abc"), 3U);
}

TEST(NearestName, IsAtMostAThirdOfTheNameAndOneAway) {
  const std::vector<std::string_view> names = {"suspicion", "heartbeat"};
  EXPECT_EQ(nearest_name("suspicoin", names), "suspicion");
  EXPECT_EQ(nearest_name("hertbeat", names), "heartbeat");
  // Six letters: three may differ, not four.
  EXPECT_EQ(nearest_name("abcxyz", std::vector<std::string_view>{"abcdef"}), "abcdef");
  EXPECT_EQ(nearest_name("abcxyz", std::vector<std::string_view>{"abdefg"}), "");
}

TEST(DidYouMean, NamesWhatDiffersInAThirdOfTheLetters) {
  const std::vector<std::string_view> names = {"abcdef"};
  EXPECT_EQ(did_you_mean("abcdxy", names), "; did you mean \"abcdef\"?");
  EXPECT_EQ(did_you_mean("abcxyz", names), "");
}

TEST(DidYouMean, NamesTheFirstThatBeginsWithThreeLettersOrMore) {
  const std::vector<std::string_view> names = {"resnet18", "resnet34"};
  EXPECT_EQ(did_you_mean("res", names), "; did you mean \"resnet18\"?");
  EXPECT_EQ(did_you_mean("re", names), "");
  EXPECT_EQ(did_you_mean("", names), "");
}

}  // namespace
}  // namespace weft::nearest_name_test
