#include "weft/train/update/outer_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::outer_step_test {
namespace {

using testing::IsEmpty;

Layout one_weight_and_one_buffer() {
  Layout layout;
  layout.add("w", {1});
  layout.add("mean", {1}, ParameterKind::kBuffer);
  return layout;
}

// Sums in which the weight's place holds `weight` and the buffer's `buffer`.
std::vector<float> sums_of(const ParameterArena& arena, float weight, float buffer) {
  std::vector<float> sums(static_cast<std::size_t>(arena.layout().num_elements()));
  sums[static_cast<std::size_t>(arena.layout()[0].offset)] = weight;
  sums[static_cast<std::size_t>(arena.layout()[1].offset)] = buffer;
  return sums;
}

TEST(OuterStep, PlainFollowsTheMeanByItsRate) {
  ParameterArena arena(one_weight_and_one_buffer());
  arena.parameter(0).fill(10.0);
  arena.parameter(1).fill(4.0);
  OuterStep outer(arena, {false, 0.5, 0.9});
  EXPECT_THAT(outer.state_names(), IsEmpty());
  outer.apply(sums_of(arena, 2.0F, 1.0F), 1.0);
  EXPECT_NEAR(arena.parameter(0).item(), 9.0, 1e-5);
  EXPECT_NEAR(arena.parameter(1).item(), 3.0, 1e-5);
}

// By hand, u = 0.5, r = 0.25: m = 4, p = 10 - 0.25 (4 + 2) = 8.5; m = 2 + 8 = 10,
// p = 8.5 - 0.25 (8 + 5) = 5.25.
TEST(OuterStep, NesterovAsByHand) {
  ParameterArena arena(one_weight_and_one_buffer());
  arena.parameter(0).fill(10.0);
  OuterStep outer(arena, {true, 0.25, 0.5});
  ASSERT_EQ(outer.state_names().size(), 1U);
  outer.apply(sums_of(arena, 4.0F, 0.0F), 1.0);
  EXPECT_NEAR(arena.parameter(0).item(), 8.5, 1e-5);
  outer.apply(sums_of(arena, 8.0F, 0.0F), 1.0);
  EXPECT_NEAR(arena.parameter(0).item(), 5.25, 1e-5);
  EXPECT_NEAR(arena.view(arena.state(outer.state_names()[0]), 0).item(), 10.0, 1e-5);
}

TEST(OuterStep, TheMeanIsThatOfThoseWhoTookPart) {
  ParameterArena arena(one_weight_and_one_buffer());
  OuterStep outer(arena, {false, 1.0, 0.0});
  // One of four members with weight 1/4 each is missing: 3 + 3 + 3 over 3/4.
  outer.apply(sums_of(arena, 9.0F / 4, 0.0F), 0.75);
  EXPECT_NEAR(arena.parameter(0).item(), -3.0, 1e-5);
  outer.apply(sums_of(arena, 100.0F, 100.0F), 0.0);
  EXPECT_NEAR(arena.parameter(0).item(), -3.0, 1e-5);
}

// How far from 0 a direction is after many delayed outer steps, of which the inner steps cover the
// part `covered`.
double after_many_delayed_steps(const OuterOptions& options, double covered) {
  const double decay = options.nesterov ? options.momentum : 0.0;
  double before = 1.0;
  double now = 1.0;
  double momentum = 0.0;
  for (int round = 0; round < 2000; ++round) {
    const double gradient = covered * before;
    momentum = decay * momentum + gradient;
    before = std::exchange(now, now - options.rate * (gradient + decay * momentum));
    if (std::abs(now) > 1e6) break;
  }
  return std::abs(now);
}

TEST(OuterStep, WhatIsCalledStableComesToRestAndWhatIsNotDoesNot) {
  for (const double rate : {0.1, 0.2, 0.4, 0.7, 0.95, 1.1}) {
    for (const double momentum : {0.0, 0.3, 0.5, 0.7, 0.9}) {
      const OuterOptions options = {true, rate, momentum};
      double worst = 0;
      for (int tenths = 1; tenths <= 10; ++tenths) {
        worst = std::max(worst, after_many_delayed_steps(options, tenths / 10.0));
      }
      EXPECT_EQ(overlap_is_stable(options), worst < 1e-3)
          << "rate " << rate << ", momentum " << momentum << ", left " << worst;
    }
  }
  // DiLoCo's own setting is for means that are not late.
  EXPECT_FALSE(overlap_is_stable({true, 0.7, 0.9}));
  EXPECT_TRUE(overlap_is_stable({true, 0.4, 0.5}));
  EXPECT_TRUE(overlap_is_stable({false, 0.7, 0.9}));
}

}  // namespace
}  // namespace weft::outer_step_test
