#include "weft/train/loose/mix_tools.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/thread.h"
#include "weft/base/time.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/step/mix_learner.h"

namespace weft::mix_tools_test {
namespace {

using testing::Each;
using testing::HasSubstr;

Recipe mix_recipe(const std::string& method) {
  Recipe recipe = small_recipe();
  recipe.group.exchange = "mix";
  recipe.mix.method = method;
  recipe.data.partition = "equal";
  return recipe;
}

struct Made {
  SystemClock clock;
  std::unique_ptr<Trainer> trainer;
  MixMethod method;
};

std::unique_ptr<Made> make(const Recipe& recipe) {
  auto made = std::make_unique<Made>();
  auto trainer = Trainer::make(recipe, {}, made->clock);
  EXPECT_TRUE(trainer.ok()) << trainer.status().message();
  if (trainer.ok()) made->trainer = *std::move(trainer);
  auto method = mix_method(recipe);
  EXPECT_TRUE(method.ok()) << method.status().message();
  if (method.ok()) made->method = *std::move(method);
  return made;
}

std::vector<float> parameters_of(Trainer& trainer) {
  const std::span<const float> values = std::as_const(trainer.arena()).parameters();
  return {values.begin(), values.end()};
}

TEST(MixTools, AMethodGetsWhatItNeeds) {
  const auto plain = make(mix_recipe("dpsgd"));
  const auto none = make_mix_tools(*plain->trainer, plain->method, 0, 3);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->probe, nullptr);
  EXPECT_EQ(none->judge, nullptr);
  const auto matching = make(mix_recipe("dimat"));
  const auto probe = make_mix_tools(*matching->trainer, matching->method, 0, 3);
  ASSERT_TRUE(probe.ok()) << probe.status().message();
  EXPECT_EQ(probe->judge, nullptr);
  ASSERT_EQ(probe->probe->layers().size(), 1U);
  EXPECT_EQ(probe->probe->layers()[0].units, 16U);
  const auto judging = make(mix_recipe("bristle"));
  const auto judge = make_mix_tools(*judging->trainer, judging->method, 2, 3);
  ASSERT_TRUE(judge.ok()) << judge.status().message();
  EXPECT_EQ(judge->probe, nullptr);
  EXPECT_FALSE(judge->judge->familiar().empty());
}

TEST(MixTools, ToolsAndTrainerDisturbEachOtherInNothing) {
  const auto made = make(mix_recipe("bristle"));
  Trainer& trainer = *made->trainer;
  const std::vector<float> model = parameters_of(trainer);
  const auto tools = make_mix_tools(trainer, made->method, 1, 3);
  ASSERT_TRUE(tools.ok()) << tools.status().message();
  const std::vector<double> expected = tools->judge->scores(model);
  const std::vector<float> zeros(model.size());
  // A member's loop thread judges while its training thread computes.
  std::vector<std::vector<double>> scores(20);
  Thread loop([&] {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      static_cast<void>(tools->judge->scores(zeros));
      scores[i] = tools->judge->scores(model);
    }
  });
  auto learner = MixTrainedLearner::make(trainer.recipe(), trainer.parts(), 3);
  ASSERT_TRUE(learner.ok()) << learner.status().message();
  std::vector<float> gradient(model.size());
  std::vector<float> first;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> own = model;
    EXPECT_TRUE((*learner)->gradient(1, 0, own, gradient).ok());
    if (first.empty()) first = gradient;
    EXPECT_EQ(gradient, first);
  }
  loop.join();
  EXPECT_THAT(scores, Each(expected));
}

TEST(MixTools, WhatCannotBeIsSaidBeforeTheRun) {
  Recipe shared = mix_recipe("bristle");
  shared.data.partition = "shared";
  const auto judging = make(shared);
  EXPECT_THAT(check_mix_tools(*judging->trainer, judging->method, 3).message(),
              HasSubstr("data.partition"));
  Recipe residual = mix_recipe("dimat");
  residual.model.name = "resnet9";
  const auto matching = make(residual);
  EXPECT_THAT(check_mix_tools(*matching->trainer, matching->method, 3).message(),
              HasSubstr("mix.combine"));
  const auto good = make(mix_recipe("dimat"));
  EXPECT_TRUE(check_mix_tools(*good->trainer, good->method, 3).ok());
}

}  // namespace
}  // namespace weft::mix_tools_test
