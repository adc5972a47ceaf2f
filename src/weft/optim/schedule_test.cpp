#include "weft/optim/schedule.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/optim/clip.h"

namespace weft::schedule_test {
namespace {

using testing::HasSubstr;

TEST(Schedule, ConstantIsOneAfterTheWarmUp) {
  const ScheduleOptions options = {.name = "constant", .total_steps = 10, .warmup_steps = 4};
  EXPECT_EQ(schedule_factor(options, 0), 0.25);
  EXPECT_EQ(schedule_factor(options, 2), 0.75);
  EXPECT_EQ(schedule_factor(options, 3), 1.0);
  EXPECT_EQ(schedule_factor(options, 1000), 1.0);
}

TEST(Schedule, CosineFallsFromOneToTheFinalFraction) {
  const ScheduleOptions options = {
      .name = "cosine", .total_steps = 110, .warmup_steps = 10, .final_fraction = 0.2};
  EXPECT_EQ(schedule_factor(options, 10), 1.0);
  EXPECT_NEAR(schedule_factor(options, 60), 0.6, 1e-7);
  EXPECT_NEAR(schedule_factor(options, 35), 0.2 + 0.8 * (1 + std::sqrt(0.5)) / 2, 1e-7);
  EXPECT_NEAR(schedule_factor(options, 110), 0.2, 1e-7);
  EXPECT_NEAR(schedule_factor(options, 5000), 0.2, 1e-7);
  for (std::int64_t step = 10; step < 120; ++step) {
    EXPECT_LE(schedule_factor(options, step + 1), schedule_factor(options, step));
  }
}

TEST(Schedule, StepMultipliesByTheFactorEverySoManySteps) {
  const ScheduleOptions options = {
      .name = "step", .warmup_steps = 2, .drop_every_steps = 5, .drop_factor = 0.5};
  EXPECT_EQ(schedule_factor(options, 6), 1.0);
  EXPECT_EQ(schedule_factor(options, 7), 0.5);
  EXPECT_EQ(schedule_factor(options, 12), 0.25);
}

TEST(Schedule, WarmUpLongerThanTheRunStaysBelowOne) {
  const ScheduleOptions options = {.name = "cosine", .total_steps = 5, .warmup_steps = 10};
  EXPECT_EQ(schedule_factor(options, 4), 0.5);
  EXPECT_EQ(schedule_factor(options, 10), 0.0);
}

TEST(Schedule, UnknownNamesAndValuesOutOfRangeAreRefused) {
  EXPECT_TRUE(check_schedule({}).ok());
  EXPECT_THAT(check_schedule({.name = "linaer"}).message(), HasSubstr("got \"linaer\""));
  EXPECT_FALSE(check_schedule({.total_steps = 0}).ok());
  EXPECT_FALSE(check_schedule({.warmup_steps = -1}).ok());
  EXPECT_FALSE(check_schedule({.drop_every_steps = 0}).ok());
  EXPECT_FALSE(check_schedule({.final_fraction = 1.5}).ok());
  EXPECT_FALSE(check_schedule({.drop_factor = std::nan("")}).ok());
}

TEST(Schedule, EveryScheduleStaysBetweenZeroAndOneForever) {
  for (const std::string& name : schedule_names()) {
    ScheduleOptions options = {.name = name, .total_steps = 50, .warmup_steps = 5};
    options.milestones = {7, 9};
    options.cycle_steps = 3;
    options.cycle_growth = 2;
    ASSERT_TRUE(check_schedule(options).ok()) << name;
    for (const std::int64_t step : {0, 4, 5, 6, 30, 48, 49, 50, 1000000}) {
      const double factor = schedule_factor(options, step);
      EXPECT_GE(factor, 0.0) << name << " " << step;
      EXPECT_LE(factor, 1.0) << name << " " << step;
    }
  }
}

TEST(Schedule, InverseSquareRootGoesOnFromTheWarmUp) {
  const ScheduleOptions options = {.name = "inverse_sqrt", .warmup_steps = 100};
  EXPECT_EQ(schedule_factor(options, 100), 1.0);
  EXPECT_NEAR(schedule_factor(options, 400), 0.5, 1e-7);
}

TEST(Schedule, MilestonesAreRisingWholeNumbers) {
  EXPECT_EQ(*parse_milestones(" 10,20 , 300"), (std::vector<std::int64_t>{10, 20, 300}));
  EXPECT_TRUE(parse_milestones("")->empty());
  for (const char* text : {"a", "10,", "20,10", "0", "-5", "10 20", "10,,20", "1e3"}) {
    EXPECT_FALSE(parse_milestones(text).ok()) << text;
  }
  EXPECT_FALSE(check_schedule({.name = "multistep"}).ok());
}

TEST(Schedule, RatesScaleWithTheBatch) {
  EXPECT_EQ(linearly_scaled_rate(0.1, 8192, 256), 0.1 * 32);
}

TEST(Clip, ByValueMovesValuesIntoTheRange) {
  std::vector<float> gradients = {-3.0F, -0.5F, 0.0F,
                                  0.5F,  3.0F,  std::numeric_limits<float>::quiet_NaN()};
  clip_by_value(gradients, 1.0);
  gradients[5] = std::isnan(gradients[5]) ? 7.0F : 0.0F;
  EXPECT_EQ(gradients, (std::vector<float>{-1.0F, -0.5F, 0.0F, 0.5F, 1.0F, 7.0F}));
}

TEST(Clip, ScalesDownToTheNormAndNeverUp) {
  std::vector<float> gradients = {3.0F, -4.0F, 0.0F};
  EXPECT_DOUBLE_EQ(clip_by_global_norm(gradients, 10.0), 5.0);
  EXPECT_EQ(gradients, (std::vector<float>{3.0F, -4.0F, 0.0F}));
  EXPECT_DOUBLE_EQ(clip_by_global_norm(gradients, 1.0), 5.0);
  EXPECT_NEAR(gradients[0], 0.6, 1e-7);
  EXPECT_NEAR(gradients[1], -0.8, 1e-7);
}

TEST(Clip, NormOfManyValuesIsRightAndInfinityChangesNothing) {
  std::vector<float> values(100003, 0.5F);
  EXPECT_NEAR(global_norm(values), 0.5 * std::sqrt(100003.0), 1e-9);
  EXPECT_EQ(global_norm({}), 0.0);
  values[7] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(clip_by_global_norm(values, 1.0)));
  EXPECT_EQ(values[0], 0.5F);
}

}  // namespace
}  // namespace weft::schedule_test
