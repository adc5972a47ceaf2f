// What every registered gate makes of late gradients in training, against its weight and correction
// done by hand. A gate that is added is in these tests.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/gate/gate.h"
#include "weft/gate/gate_def.h"
#include "weft/train/step/member_part.h"
#include "weft/train/test_member_group.h"

namespace weft::late_gate_test {
namespace {

using member_group::expect_mean_of;
using member_group::Group;
using member_group::plain_recipe;

// The last of four equal members is the late one, with 6 of 24 samples.
constexpr std::size_t kLate = 3;
constexpr double kShare = 6;
constexpr double kBatch = 24;
const std::vector<double> kRates(4, 0.010);

Recipe recipe_with(const std::string& gate, std::int64_t staleness_max = 4) {
  Recipe recipe = plain_recipe();
  recipe.group.late = gate;
  recipe.group.staleness_max = staleness_max;
  EXPECT_TRUE(check_recipe(recipe).ok()) << check_recipe(recipe).message();
  return recipe;
}

double weight_of(const std::string& gate, std::int64_t staleness) {
  const double weight = Gate::parse(gate).value().weight({staleness, 1});
  return static_cast<double>(static_cast<float>(weight));
}

// Rounds that the group gets as sums alone.
void skip_rounds(Group& group, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    ++group.round;
    for (std::size_t k = 0; k < group.trainers.size(); ++k) {
      Turn turn = group.turn(k);
      turn.reduced = group.exchanges[0]->sums;
      turn.reports = group.exchanges[0]->reports;
      ASSERT_TRUE(group.trainers[k]->apply_round(turn).ok());
    }
  }
}

std::vector<float> late_in_the_first_round(Group& group) {
  group.run_round({kLate});
  EXPECT_EQ(group.last.metrics.samples, kBatch - kShare);
  return group.exchanges[kLate]->collector.values();
}

TEST(LateGate, LateGradientsJoinTheNextMeanWithTheGatesWeight) {
  for (const GateDef* def : gates()) {
    SCOPED_TRACE(def->name);
    const std::string name(def->name);
    Group group(recipe_with(name), kRates);
    Group dropping(recipe_with("drop"), kRates);
    const std::vector<float> then = group.parameters();
    std::vector<float> late = late_in_the_first_round(group);
    late_in_the_first_round(dropping);
    const std::vector<float> before = group.parameters();
    ASSERT_EQ(before, dropping.parameters());
    group.run_round();
    dropping.run_round();
    const double weight = weight_of(name, 1);
    Gate::parse(name).value().correct({then, before, kShare / kBatch}, late);
    for (std::size_t i = 0; i < late.size(); ++i) {
      const float fresh = dropping.given[kLate][i];
      const float added = static_cast<float>(weight) * late[i];
      ASSERT_EQ(group.given[kLate][i], fresh + added) << "element " << i;
    }
    expect_mean_of(group, before, group.parameters(), kBatch + weight * kShare);
    // Nothing counts twice.
    const std::vector<float> next = group.parameters();
    group.run_round();
    expect_mean_of(group, next, group.parameters(), kBatch);
  }
}

TEST(LateGate, AMemberThatIsLateAgainIsStoodInForWithTheGatesWeight) {
  for (const GateDef* def : gates()) {
    SCOPED_TRACE(def->name);
    const std::string name(def->name);
    Group group(recipe_with(name), kRates);
    const std::vector<float> then = group.parameters();
    std::vector<float> late = late_in_the_first_round(group);
    const std::vector<float> before = group.parameters();
    group.run_round({kLate});
    const double weight = weight_of(name, 1);
    Gate::parse(name).value().correct({then, before, kShare / kBatch}, late);
    for (std::size_t i = 0; i < late.size(); ++i) {
      ASSERT_EQ(group.given[kLate][i], static_cast<float>(weight) * late[i]) << "element " << i;
    }
    expect_mean_of(group, before, group.parameters(), kBatch - kShare + weight * kShare);
  }
}

TEST(LateGate, OlderGradientsCountByTheirAgeAndNoneBeyondTheLimit) {
  for (const GateDef* def : gates()) {
    const std::string name(def->name);
    for (const std::int64_t staleness : {1, 2, 3}) {
      SCOPED_TRACE(name + ", " + std::to_string(staleness));
      Group group(recipe_with(name, 2), kRates);
      late_in_the_first_round(group);
      skip_rounds(group, static_cast<int>(staleness) - 1);
      group.run_round();
      const double weight = staleness <= 2 ? weight_of(name, staleness) : 0.0;
      EXPECT_DOUBLE_EQ(group.last.metrics.samples, kBatch + weight * kShare);
    }
  }
}

TEST(LateGate, OptionsOfTheRecipeReachTheGate) {
  Group group(recipe_with("polynomial:exponent=2"), kRates);
  late_in_the_first_round(group);
  group.run_round();
  EXPECT_DOUBLE_EQ(group.last.metrics.samples, kBatch + kShare / 4);
}

// g + lambda g^2 (w_now - w_then), by hand, with g the mean over the member's own samples.
TEST(LateGate, DelayCompensationFollowsTheParameters) {
  Group group(recipe_with("delay_compensation:lambda=2"), kRates);
  const std::vector<float> then = group.parameters();
  const std::vector<float> late = late_in_the_first_round(group);
  const std::vector<float> now = group.parameters();
  group.run_round({kLate});
  double moved = 0;
  for (std::size_t i = 0; i < late.size(); ++i) {
    const double mean = static_cast<double>(late[i]) * kBatch / kShare;
    const double way = static_cast<double>(now[i]) - static_cast<double>(then[i]);
    const double expected = (mean + 2 * mean * mean * way) * kShare / kBatch;
    ASSERT_NEAR(static_cast<double>(group.given[kLate][i]), expected, 1e-6 * std::abs(expected));
    moved = std::max(moved, std::abs(expected - static_cast<double>(late[i])));
  }
  EXPECT_GT(moved, 1e-4) << "the parameters have not moved";
}

TEST(LateGate, RecipesNameOneThatExistsAndNoneWithLocalSteps) {
  Recipe recipe = plain_recipe();
  recipe.group.late = "polynomial:exponent=99";
  EXPECT_EQ(check_recipe(recipe).code(), Code::kInvalidArgument);
  recipe.group.late = "keep";
  EXPECT_EQ(check_recipe(recipe).code(), Code::kInvalidArgument);
  EXPECT_NE(check_recipe(recipe).message().find("group.late"), std::string::npos);
  for (const GateDef* def : gates()) {
    recipe.group.late = std::string(def->name);
    recipe.local.steps = 1;
    EXPECT_TRUE(check_recipe(recipe).ok()) << def->name;
    recipe.local.steps = 4;
    EXPECT_EQ(check_recipe(recipe).ok(), def->weight == nullptr) << def->name;
  }
}

}  // namespace
}  // namespace weft::late_gate_test
