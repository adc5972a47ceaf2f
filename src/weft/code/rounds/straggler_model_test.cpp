// Patterns that were judged by hand. A letter is a worker that straggles in a round.
#include "weft/code/rounds/straggler_model.h"

#include <string_view>

#include <gtest/gtest.h>

namespace weft::straggler_model_test {
namespace {

std::vector<bool> late_of(std::string_view letters) {
  std::vector<bool> late(4, false);
  for (const char letter : letters) late[static_cast<std::size_t>(letter - 'a')] = true;
  return late;
}

// The number of the first round that the model does not admit, from 1; 0: it admits all.
int first_refused(const StragglerModel& model, const std::vector<std::string_view>& rounds) {
  StragglerHistory history(model);
  int number = 0;
  for (const std::string_view round : rounds) {
    ++number;
    if (!history.admits(late_of(round))) return number;
    history.add(late_of(round));
  }
  return 0;
}

TEST(StragglerModel, AWindowOfOneRoundCountsItsStragglers) {
  const StragglerModel model = {.burst = 1, .window = 1, .distinct = 2};
  EXPECT_EQ(first_refused(model, {"ab", "ab", "cd", "a", ""}), 0);
  EXPECT_EQ(first_refused(model, {"ab", "abc"}), 2);
}

TEST(StragglerModel, AWindowCountsDifferentStragglers) {
  const StragglerModel model = {.burst = 2, .window = 3, .distinct = 2};
  EXPECT_EQ(first_refused(model, {"a", "a", "b", "b", "", "cd"}), 6);
  EXPECT_EQ(first_refused(model, {"a", "a", "b", "b", "", "c"}), 0);
  EXPECT_EQ(first_refused(model, {"a", "b", "c"}), 3);
  EXPECT_EQ(first_refused(model, {"a", "b", "", "c"}), 0);
}

TEST(StragglerModel, ABurstIsAsLongAsItsFirstAndLastRoundAreApart) {
  const StragglerModel model = {.burst = 2, .window = 4, .distinct = 4};
  EXPECT_EQ(first_refused(model, {"a", "a", "a"}), 3);
  EXPECT_EQ(first_refused(model, {"a", "", "a"}), 3);
  EXPECT_EQ(first_refused(model, {"a", "a", "", "", "a"}), 5);
  EXPECT_EQ(first_refused(model, {"a", "a", "", "", "", "a"}), 0);
}

TEST(StragglerModel, OneThatAllowsNoneAdmitsOnlyCompleteRounds) {
  EXPECT_EQ(first_refused({}, {"", "", "a"}), 3);
}

}  // namespace
}  // namespace weft::straggler_model_test
