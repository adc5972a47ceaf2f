#include "weft/train/recipe/validation.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::validation_test {
namespace {

using testing::HasSubstr;

TEST(Validation, TheSmallestLossIsTheBestAndTheFirstOfEqualOnes) {
  Validation seen;
  EXPECT_TRUE(seen.hear(10, 2.0));
  EXPECT_FALSE(seen.hear(20, 2.0));
  EXPECT_TRUE(seen.hear(30, 1.5));
  EXPECT_FALSE(seen.hear(40, std::nan("")));
  EXPECT_FALSE(seen.hear(50, std::numeric_limits<double>::infinity()));
  EXPECT_EQ(seen.best_step(), 30);
  EXPECT_EQ(seen.best_loss(), 1.5);
  EXPECT_EQ(seen.since_best(), 2);
}

TEST(Validation, LastDigitsAreNoImprovement) {
  Validation seen;
  EXPECT_TRUE(seen.hear(10, 2.0));
  EXPECT_FALSE(seen.hear(20, 2.0 - 1e-9)) << "as another split of the samples over members gives";
  EXPECT_TRUE(seen.hear(30, 2.0 - 1e-5));
  EXPECT_TRUE(seen.hear(40, -1.0));
  EXPECT_FALSE(seen.hear(50, -1.0 - 1e-9));
}

TEST(Validation, ItsTextIsReadBackBitForBit) {
  Validation seen;
  Validation back;
  EXPECT_EQ(seen.encode(), "");
  ASSERT_TRUE(back.adopt("").ok());
  EXPECT_EQ(back, seen);
  seen.hear(7, 0.1 + 0.2);
  seen.hear(9, 4.0);
  ASSERT_TRUE(back.adopt(seen.encode()).ok());
  EXPECT_EQ(back, seen);
  Validation nothing_good;
  nothing_good.hear(3, std::nan(""));
  ASSERT_TRUE(back.adopt(nothing_good.encode()).ok());
  EXPECT_EQ(back, nothing_good);
}

TEST(Validation, AnyOtherTextIsRefusedAndChangesNothing) {
  Validation seen;
  seen.hear(7, 0.5);
  const Validation before = seen;
  for (const char* text :
       {"x", "3fe0000000000000", "3fe0000000000000 7", "3fe0000000000000 7 0 1",
        "3fe0000000000000 -7 0", "3fe0000000000000 7 -1", " ", "7ff8000000000000 1 1",
        "3fe0000000000000  7 0", "3fe0000000000000 7 0x"}) {
    EXPECT_EQ(seen.adopt(text).code(), Code::kCorrupt) << text;
    EXPECT_EQ(seen, before) << text;
  }
}

TEST(Validation, StatesAreMeasuredEverySoManySteps) {
  Recipe recipe;
  recipe.run.steps = 10;
  EXPECT_FALSE(is_measured(recipe, 3)) << "not asked for";
  recipe.run.evaluate_every_steps = 3;
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step <= 10; ++step) {
    if (is_measured(recipe, step)) steps.push_back(step);
  }
  EXPECT_THAT(steps, testing::ElementsAre(3, 6, 9));
  recipe.local.steps = 4;
  steps.clear();
  recipe.run.steps = 40;
  for (std::int64_t step = 0; step <= 40; step += 4) {
    if (is_measured(recipe, step)) steps.push_back(step);
  }
  EXPECT_THAT(steps, testing::ElementsAre(4, 8, 12, 16, 20, 24, 28, 32, 36))
      << "no more often than there are rounds";
}

TEST(Validation, KeysThatNeedMeasurementsAreRefusedWithoutThem) {
  Recipe recipe;
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.checkpoint.keep_best = true;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("checkpoint.keep_best: expected run.eval"));
  recipe.checkpoint.keep_best = false;
  recipe.run.early_stop_patience = 2;
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("run.early_stop_patience: expected run."));
  recipe.run.evaluate_every_steps = 5;
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.group.wait = "deadline";
  EXPECT_THAT(check_recipe(recipe).message(), HasSubstr("group.wait"));
}

}  // namespace
}  // namespace weft::validation_test
