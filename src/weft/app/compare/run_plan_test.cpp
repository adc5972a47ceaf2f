#include "weft/app/compare/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/compare/run_recorder.h"

namespace weft::run_plan_test {
namespace {

using testing::HasSubstr;

TEST(RunKey, ChangesWithTheRecipeAndTheOptions) {
  const Recipe recipe;
  const std::vector<NamedText> options = {{"peers", "4"}, {"ms", "1"}};
  const std::string key = run_key(recipe, options);
  EXPECT_EQ(key.size(), 64U);
  EXPECT_EQ(run_key(recipe, options), key);
  Recipe other;
  other.run.seed = 2;
  EXPECT_NE(run_key(other, options), key);
  EXPECT_NE(run_key(recipe, {{"peers", "4"}, {"ms", "2"}}), key);
  EXPECT_NE(run_key(recipe, {{"peers", "4m"}, {"s", "1"}}), key);
}

TEST(AddEvaluations, MeasuresAboutAsOftenAsAsked) {
  Recipe recipe;
  recipe.run.steps = 100;
  EXPECT_THAT(add_evaluations(recipe, 10), HasSubstr("measured every 10 steps"));
  EXPECT_EQ(recipe.run.evaluate_every_steps, 10);
  // Whole rounds of local steps.
  Recipe local;
  local.run.steps = 110;
  local.local.steps = 20;
  local.run.evaluate = false;
  EXPECT_THAT(add_evaluations(local, 2), HasSubstr("run.evaluate set to true; measured"));
  EXPECT_EQ(local.run.evaluate_every_steps, 40);
  EXPECT_TRUE(local.run.evaluate);
}

TEST(AddEvaluations, WhatTheRecipeSaysItselfStays) {
  Recipe recipe;
  recipe.run.evaluate_every_steps = 7;
  EXPECT_EQ(add_evaluations(recipe, 10), "");
  EXPECT_EQ(recipe.run.evaluate_every_steps, 7);
  Recipe late;
  late.group.wait = "deadline";
  late.group.deadline_ms = 100;
  EXPECT_THAT(add_evaluations(late, 10), HasSubstr("at the end only"));
  EXPECT_EQ(late.run.evaluate_every_steps, 0);
  Recipe gossip;
  gossip.group.exchange = "gossip";
  EXPECT_THAT(add_evaluations(gossip, 10), HasSubstr("no common model before"));
  EXPECT_EQ(gossip.run.evaluate_every_steps, 0);
}

TEST(Thinned, PointsAreMeansOfTheirNeighbours) {
  std::vector<RunPoint> points;
  for (int i = 1; i <= 5; ++i) {
    RunPoint point;
    point.round = i;
    point.loss = i;
    points.push_back(point);
  }
  const std::vector<RunPoint> thin = thinned(points, 3);
  ASSERT_EQ(thin.size(), 3U);
  EXPECT_EQ(thin[0].round, 2);
  EXPECT_DOUBLE_EQ(thin[0].loss, 1.5);
  EXPECT_EQ(thin[2].round, 5);
  EXPECT_DOUBLE_EQ(thin[2].loss, 5);
  EXPECT_EQ(thinned(points, 5).size(), 5U);
  EXPECT_TRUE(thinned({}, 5).empty());
}

}  // namespace
}  // namespace weft::run_plan_test
