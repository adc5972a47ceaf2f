// Units of real models: where they change places, the model computes what it did.
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/time.h"
#include "weft/train/loose/mix_trained_probe.h"
#include "weft/train/recipe/test_recipe.h"

namespace weft::sim::mix_matching_test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Recipe recipe_of(const std::string& model) {
  Recipe recipe = small_recipe();
  recipe.model.name = model;
  recipe.data.synthetic_samples = 64;
  recipe.group.exchange = "mix";
  return recipe;
}

std::vector<std::size_t> drawn_order(std::size_t units, std::uint64_t seed) {
  std::vector<std::size_t> order(units);
  std::iota(order.begin(), order.end(), 0U);
  Rng draws(seed);
  for (std::size_t i = units; i > 1; --i) std::swap(order[i - 1], order[draws.below(i)]);
  return order;
}

TEST(MixTrainedProbe, AModelWithPermutedUnitsComputesTheSame) {
  for (const auto& [name, hidden] : std::vector<std::pair<std::string, std::size_t>>{
           {"linear", 0}, {"mlp", 1}, {"cnn", 3}, {"lenet", 4}}) {
    SystemClock clock;
    auto trainer = Trainer::make(recipe_of(name), {}, clock);
    ASSERT_TRUE(trainer.ok()) << trainer.status().message();
    auto made = MixTrainedProbe::make(**trainer);
    ASSERT_TRUE(made.ok()) << made.status().message();
    MixProbe& probe = **made;
    const std::span<const float> arena = std::as_const((*trainer)->arena()).parameters();
    const std::vector<float> first(arena.begin(), arena.end());
    const auto measured = [&](const std::vector<float>& model) {
      std::ranges::copy(model, (*trainer)->arena().parameters().begin());
      return *(*trainer)->evaluate_alone();
    };
    ASSERT_EQ(probe.layers().size(), hidden) << name;
    std::vector<float> model = first;
    const RoundReport before = measured(model);
    const std::vector<std::vector<float>> values = probe.values(model);
    for (std::size_t l = 0; l < hidden; ++l) {
      const MixUnits& layer = probe.layers()[l];
      const std::vector<std::size_t> order = drawn_order(layer.units, l);
      permute_units(model, layer, order);
      const std::vector<float> now = probe.values(model)[l];
      std::vector<float> expected(values[l].size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t unit = i % layer.units;
        expected[i] = values[l][i - unit + order[unit]];
      }
      EXPECT_THAT(now, Pointwise(FloatNear(1e-4F), expected)) << name << " " << l;
    }
    EXPECT_EQ(model == first, hidden == 0) << name;
    const RoundReport after = measured(model);
    EXPECT_NEAR(after.loss, before.loss, 1e-5 * before.loss) << name;
    EXPECT_EQ(after.correct, before.correct) << name;
  }
}

TEST(MixTrainedProbe, ModelsWithoutSuchUnitsAreRefused) {
  SystemClock clock;
  auto trainer = Trainer::make(recipe_of("resnet9"), {}, clock);
  ASSERT_TRUE(trainer.ok()) << trainer.status().message();
  const Status refused = MixTrainedProbe::make(**trainer).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr("mix.combine"));
}

}  // namespace
}  // namespace weft::sim::mix_matching_test
