// The momentum of a member, by hand and in rounds: what is sent, what an abort leaves, and who
// keeps it.
#include "weft/train/update/member_momentum.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/train/test_member_group.h"

namespace weft::member_momentum_test {
namespace {

using member_group::Group;
using member_group::sixty_steps;

Layout two_weights() {
  Layout layout;
  layout.add("a", {1});
  layout.add("b", {1});
  return layout;
}

// What is sent of parameter `id` when its gradient is `gradient`.
double sent(MemberMomentum& momentum, ParameterArena& arena, int id, float gradient) {
  arena.gradient(ParameterId(id)).fill(static_cast<double>(gradient));
  momentum.replace(ParameterId(id));
  return arena.gradient(ParameterId(id)).item();
}

// With b = 0.75: m = 0.25 * 8 = 2; then 0.75 * 2 + 0.25 * 4 = 2.5; then 1.875 + 1 = 2.875.
TEST(MemberMomentum, IsTheRunningMeanByHand) {
  ParameterArena arena(two_weights());
  MemberMomentum momentum(arena, 0.75);
  momentum.begin(Round(1));
  EXPECT_EQ(sent(momentum, arena, 0, 8.0F), 2.0);
  EXPECT_EQ(sent(momentum, arena, 1, -4.0F), -1.0);
  momentum.applied(Round(1));
  momentum.begin(Round(2));
  EXPECT_EQ(sent(momentum, arena, 0, 4.0F), 2.5);
  momentum.applied(Round(2));
  momentum.begin(Round(3));
  EXPECT_EQ(sent(momentum, arena, 0, 4.0F), 2.875);
  EXPECT_EQ(sent(momentum, arena, 1, 0.0F), -0.75) << "no gradient in round 2, so as after round 1";
}

TEST(MemberMomentum, ARoundThatIsRunAgainBeginsFromTheSameState) {
  ParameterArena arena(two_weights());
  MemberMomentum momentum(arena, 0.5);
  momentum.begin(Round(1));
  EXPECT_EQ(sent(momentum, arena, 0, 8.0F), 4.0);
  momentum.begin(Round(1));
  EXPECT_EQ(sent(momentum, arena, 0, 2.0F), 1.0);
  momentum.applied(Round(2));
  momentum.begin(Round(3));
  EXPECT_EQ(sent(momentum, arena, 0, 2.0F), 1.0) << "round 1 was never applied";
  momentum.applied(Round(3));
  momentum.clear();
  momentum.begin(Round(4));
  EXPECT_EQ(sent(momentum, arena, 0, 2.0F), 1.0);
}

TEST(MemberMomentum, GradientsThatAreNotFiniteAreSentAndForgotten) {
  ParameterArena arena(two_weights());
  MemberMomentum momentum(arena, 0.5);
  momentum.begin(Round(1));
  sent(momentum, arena, 0, 8.0F);
  momentum.applied(Round(1));
  momentum.begin(Round(2));
  EXPECT_TRUE(std::isnan(sent(momentum, arena, 0, std::numeric_limits<float>::quiet_NaN())));
  momentum.applied(Round(2));
  momentum.begin(Round(3));
  EXPECT_EQ(sent(momentum, arena, 0, 0.0F), 2.0);
}

Recipe robust_recipe(double momentum) {
  Recipe recipe = sixty_steps();
  recipe.optimizer.momentum = 0;
  recipe.group.hosts = "apart";
  recipe.group.start_members = 3;
  recipe.optimizer.learning_rate = 1e-30;  // parameters stay, so gradients are those of a twin
  recipe.aggregate = {"median", 1};
  recipe.aggregate.member_momentum = momentum;
  return recipe;
}

// Group runs each round twice, and aborts the first.
TEST(MemberMomentum, MembersSendItInRoundsAndKeepItInTheirCheckpoints) {
  constexpr float kDecay = 0.75F;
  Group plain(robust_recipe(0), {0, 0, 0});
  Group group(robust_recipe(kDecay), {0, 0, 0});
  std::vector<std::vector<float>> expected(3);
  for (int round = 1; round <= 3; ++round) {
    plain.run_round();
    group.run_round();
    for (std::size_t i = 0; i < 3; ++i) {
      expected[i].resize(plain.given[i].size());
      double largest = 0;
      for (std::size_t k = 0; k < expected[i].size(); ++k) {
        expected[i][k] = kDecay * expected[i][k] + (1 - kDecay) * plain.given[i][k];
        largest = std::max(largest, std::abs(static_cast<double>(expected[i][k])));
      }
      ASSERT_GT(largest, 1e-3);
      EXPECT_THAT(group.given[i], testing::Pointwise(testing::FloatNear(1e-6F), expected[i]));
    }
  }
  const std::string name = MemberMomentum::state_name();
  EXPECT_THAT(group.trainers[0]->shared_states(), testing::Not(testing::Contains(name)));
  EXPECT_THAT(group.trainers[0]->arena().state_names(), testing::Contains(name));

  Trainer& first = *group.trainers[0];
  const auto values = [&](Trainer& trainer) {
    const Array state = trainer.arena().state(name);
    const std::span<const float> all = std::as_const(state).flat<float>();
    return std::vector<float>(all.begin(), all.end());
  };
  const Bytes whole =
      serialise_state(first.arena(), first.checkpoint_info("run"), first.arena().state_names());
  Group resumed(robust_recipe(kDecay), {0});
  ASSERT_TRUE(resumed.trainers[0]->decode(whole).ok());
  EXPECT_EQ(values(*resumed.trainers[0]), values(first));
  // A newcomer gets what all share, and begins with none of its own.
  ASSERT_TRUE(resumed.trainers[0]->adopt(first.encode("run")).ok());
  EXPECT_THAT(values(*resumed.trainers[0]), testing::Each(0.0F));
}

}  // namespace
}  // namespace weft::member_momentum_test
