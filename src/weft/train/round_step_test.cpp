// Which sibling of RoundStep a recipe gets, and what each says of its state.
#include "weft/train/step/round_step.h"

#include <memory>

#include <gtest/gtest.h>

#include "weft/array/arena/parameter_arena.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"
#include "weft/train/step/gossip_step.h"
#include "weft/train/step/local_step.h"
#include "weft/train/step/train_step.h"

namespace weft::round_step_test {
namespace {

Recipe with(const char* exchange, std::int64_t local_steps) {
  Recipe recipe = small_recipe();
  recipe.group.exchange = exchange;
  recipe.local.steps = local_steps;
  return recipe;
}

template <class Step>
bool makes(const Recipe& recipe) {
  const SystemClock clock;
  const auto trainer = Trainer::make(recipe, {}, clock).value();
  const std::unique_ptr<RoundStep> step = make_round_step(recipe, trainer->arena());
  return dynamic_cast<const Step*>(step.get()) != nullptr;
}

TEST(RoundStep, TheRecipeChoosesOneOfTheSiblings) {
  EXPECT_TRUE(makes<TrainStep>(with("exact", 1)));
  EXPECT_TRUE(makes<LocalSteps>(with("exact", 3)));
  EXPECT_TRUE(makes<GossipStep>(with("gossip", 1)));
}

TEST(RoundStep, ARoundOfOthersIsNoneOfAGossipingMember) {
  const SystemClock clock;
  const auto trainer = Trainer::make(with("gossip", 1), {}, clock).value();
  const auto step = make_round_step(with("gossip", 1), trainer->arena());
  EXPECT_EQ(step->apply(trainer->parts(), Turn(), RoundResult()).status().code(), Code::kInternal);
}

}  // namespace
}  // namespace weft::round_step_test
