// Groups of unequal members, played in one process with a clock of their own.
#include "weft/train/step/member_part.h"

#include <vector>

#include <gtest/gtest.h>

#include "weft/train/test_member_group.h"

namespace weft::member_part_test {
namespace {

using member_group::expect_mean_of;
using member_group::Group;
using member_group::plain_recipe;
using member_group::sixty_steps;

TEST(MemberPart, SharesFollowSpeedAndTheMathematicsStays) {
  Recipe recipe = sixty_steps();
  Group alone(recipe, {0.010});
  recipe.group.shares = "speed";
  Group group(recipe, {0.010, 0.010, 0.010, 0.040});
  double seconds = 0;
  for (int round = 0; round < 20; ++round) {
    seconds = group.run_round();
    alone.run_round();
    if (round == 0) {
      EXPECT_DOUBLE_EQ(seconds, 6 * 0.040);
    }
  }
  EXPECT_EQ(group.split(), (std::vector<std::int64_t>{8, 7, 7, 2}));
  EXPECT_DOUBLE_EQ(seconds, 8 * 0.010);
  EXPECT_EQ(group.last.metrics.samples, 24.0);
  EXPECT_LT(relative_difference(group.parameters(), alone.parameters()), 1e-5);
}

TEST(MemberPart, SharesAreAgreedAnewWhenSpeedsChange) {
  Recipe recipe = sixty_steps();
  recipe.group.shares = "speed";
  Group group(recipe, {0.010, 0.010, 0.040});
  for (int round = 0; round < 12; ++round) group.run_round();
  EXPECT_LT(group.split()[2], 5);
  group.rates = {0.040, 0.010, 0.010};
  for (int round = 0; round < 24; ++round) group.run_round();
  EXPECT_LT(group.split()[0], 5);
  EXPECT_DOUBLE_EQ(group.run_round(), 11 * 0.010);
}

TEST(MemberPart, ANewcomerTakesTheSharesWithTheState) {
  Recipe recipe = sixty_steps();
  recipe.group.shares = "speed";
  Group group(recipe, {0.010, 0.040});
  for (int round = 0; round < 10; ++round) group.run_round();
  EXPECT_EQ(group.split(), (std::vector<std::int64_t>{19, 5}));
  group.rates.push_back(0.010);
  group.add();
  ASSERT_TRUE(group.trainers[2]->adopt(group.trainers[0]->encode("run")).ok());
  EXPECT_EQ(group.trainers[2]->hash().total, group.trainers[0]->hash().total);
  // As long as nothing is known of its speed, it counts as mean: a third of the batch.
  EXPECT_EQ(group.split()[2], 8);
  for (int round = 0; round < 12; ++round) group.run_round();
  EXPECT_EQ(group.split(), (std::vector<std::int64_t>{11, 2, 11}));
  EXPECT_EQ(group.trainers[2]->encode("run"), group.trainers[0]->encode("run"));
}

TEST(MemberPart, ACheckpointHoldsTheShares) {
  Recipe recipe = sixty_steps();
  recipe.group.shares = "speed";
  Group group(recipe, {0.010, 0.040});
  for (int round = 0; round < 10; ++round) group.run_round();
  Group resumed(recipe, {0.010, 0.040});
  for (auto& trainer : resumed.trainers) {
    ASSERT_TRUE(trainer->decode(group.trainers[1]->encode("run")).ok());
  }
  resumed.round = group.round;
  EXPECT_EQ(resumed.split(), group.split());
  EXPECT_EQ(resumed.trainers[0]->hash().total, group.trainers[0]->hash().total);
}

TEST(MemberPart, TheMeanIsThatOfWhatArrived) {
  Group group(plain_recipe(), {0.010, 0.010, 0.010, 0.040});
  group.run_round();
  const std::vector<float> before = group.parameters();
  group.run_round({3});
  for (std::size_t i = 0; i < before.size(); ++i) ASSERT_EQ(group.given[3][i], 0.0F);
  expect_mean_of(group, before, group.parameters(), 18);
  const std::vector<float> next = group.parameters();
  group.run_round({0, 3});
  expect_mean_of(group, next, group.parameters(), 12);
  group.run_round();
  EXPECT_EQ(group.last.metrics.samples, 24.0);
}

TEST(MemberPart, ARoundThatNobodyWasInTimeForChangesNothing) {
  Group group(plain_recipe(), {0.010, 0.010});
  group.run_round();
  const std::vector<float> before = group.parameters();
  group.run_round({0, 1});
  EXPECT_EQ(group.parameters(), before);
  EXPECT_TRUE(group.last.skipped);
  EXPECT_EQ(group.trainers[0]->steps_done(), 2);
}

TEST(MemberPart, LateGradientsAreCarriedWithTheirSamples) {
  Recipe recipe = plain_recipe();
  recipe.group.late = "carry";
  Group group(recipe, {0.010, 0.010, 0.010, 0.040});
  group.run_round({3});
  EXPECT_EQ(group.last.metrics.samples, 18.0);
  const std::vector<float> late = group.exchanges[3]->collector.values();
  // In time again: its own and the late ones.
  std::vector<float> before = group.parameters();
  group.run_round();
  expect_mean_of(group, before, group.parameters(), 30);
  // Nothing is carried twice.
  before = group.parameters();
  group.run_round();
  expect_mean_of(group, before, group.parameters(), 24);
  // Late again and again: in each round what was late in the one before.
  group.run_round({3});
  for (int round = 0; round < 3; ++round) {
    const std::vector<float> latest = group.exchanges[3]->collector.values();
    before = group.parameters();
    group.run_round({3});
    expect_mean_of(group, before, group.parameters(), 24);
  }
  EXPECT_EQ(late.size(), group.given[3].size());
}

TEST(MemberPart, WhatIsTooOldIsDropped) {
  Recipe recipe = plain_recipe();
  recipe.group.late = "carry";
  recipe.group.staleness_max = 2;
  for (const int missed : {1, 2}) {
    Group group(recipe, {0.010, 0.010});
    group.run_round({1});
    // Rounds that it is told of as sums alone.
    for (int i = 0; i < missed; ++i) {
      ++group.round;
      for (std::size_t k = 0; k < group.trainers.size(); ++k) {
        Turn turn = group.turn(k);
        turn.reduced = group.exchanges[0]->sums;
        turn.reports = group.exchanges[0]->reports;
        ASSERT_TRUE(group.trainers[k]->apply_round(turn).ok());
      }
    }
    group.run_round();
    EXPECT_EQ(group.last.metrics.samples, missed == 1 ? 36.0 : 24.0) << missed;
  }
}

TEST(MemberPart, TheDeadlineFollowsTheMedianMember) {
  Recipe recipe = plain_recipe();
  recipe.group.deadline_ms = 0;
  recipe.group.deadline_factor = 3;
  Group group(recipe, {0.010, 0.010, 0.010, 0.400});
  group.run_round();
  EXPECT_EQ(group.exchanges[0]->stand_in_given.deadline, Duration::zero())
      << "nothing is known yet";
  group.run_round();
  EXPECT_NEAR(to_seconds(group.exchanges[0]->stand_in_given.deadline), 3 * 6 * 0.010, 1e-6);
}

TEST(MemberPart, LocalStepsAreSharedAndWeightedBySpeed) {
  Recipe recipe = sixty_steps();
  recipe.group.shares = "speed";
  recipe.local.steps = 3;
  const std::vector<double> rates = {0.010, 0.010, 0.010, 0.040};
  Group group(recipe, {0, 0, 0, 0});
  for (int round = 0; round < 12; ++round) {
    const std::vector<std::int64_t> split = group.split();
    for (std::size_t i = 0; i < rates.size(); ++i) {
      group.clocks[i]->tick = from_seconds(3 * rates[i] * static_cast<double>(split[i]));
    }
    group.run_round();
    EXPECT_EQ(group.last.metrics.samples, 3 * 24.0);
    for (std::size_t i = 0; i < rates.size(); ++i) {
      const Result<RoundReport> told = RoundReport::decode(group.reports[i]);
      ASSERT_TRUE(told.ok());
      EXPECT_EQ(told->samples, 3 * static_cast<double>(split[i]));
    }
  }
  EXPECT_EQ(group.split(), (std::vector<std::int64_t>{8, 7, 7, 2}));
}

TEST(MemberPart, RecipesThatContradictThemselvesAreRefused) {
  Recipe recipe = plain_recipe();
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.group.audit = true;
  EXPECT_EQ(check_recipe(recipe).code(), Code::kInvalidArgument);
  recipe.group.audit = false;
  recipe.group.late = "carry";
  EXPECT_TRUE(check_recipe(recipe).ok());
  recipe.local.steps = 4;
  EXPECT_EQ(check_recipe(recipe).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::member_part_test
