#include "weft/train/update/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/zoo.h"
#include "weft/op/arithmetic.h"
#include "weft/op/reduce.h"
#include "weft/train/exchange/scripted_exchange.h"
#include "weft/train/run/trainer.h"
#include "weft/train/update/precision.h"

namespace weft::loss_scale_test {
namespace {

Recipe f16_recipe(double first_scale) {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 16;
  recipe.data.name = "synthetic";
  recipe.data.synthetic_samples = 256;
  recipe.run.precision = "f16";
  recipe.run.loss_scale = first_scale;
  recipe.run.steps = 40;
  recipe.run.global_batch = 16;
  recipe.optimizer.learning_rate = 0.02;
  recipe.optimizer.momentum = 0.9;
  return recipe;
}

std::unique_ptr<Trainer> make_trainer(const Recipe& recipe) {
  static const SystemClock clock;
  return std::move(Trainer::make(recipe, {}, clock)).value();
}

// Rounds first .. last by one member; whether each was skipped.
std::vector<bool> run_rounds(Trainer& trainer, std::uint64_t first, std::uint64_t last) {
  ScriptedExchange exchange{Round(last)};
  exchange.start_after(Round(first - 1));
  std::vector<bool> skipped;
  for (std::uint64_t round = first; round <= last; ++round) {
    const Result<Turn> turn = exchange.next();
    const Result<StepReport> report = trainer.run_round(*turn, exchange);
    EXPECT_TRUE(report.ok()) << report.status().message();
    skipped.push_back(report->skipped);
    exchange.applied(Round(round), {});
  }
  return skipped;
}

std::vector<float> copy_of(std::span<const float> values) { return {values.begin(), values.end()}; }

// The gradients of a tiny loss, in f32 and in f16 with and without a scale.
TEST(LossScale, GradientsThatVanishInF16AreThereWithIt) {
  const auto gradients = [](DType precision, double first_scale) {
    const auto model = std::move(make_model("mlp", {.hidden_units = 8})).value();
    ParameterArena arena(model->layout());
    model->bind(arena);
    const LossScale scale(arena, first_scale);
    const Array images = Array::full({4, 1, 28, 28}, 0.5);
    const LowPrecision low(*model, precision);
    const Tensor logits = LowPrecision::output(model->forward(low.input(images)));
    backward(scale.scaled(sum(logits * logits) * 1e-9), GradientSink());
    scale.unscale(arena.gradients());
    return copy_of(arena.gradients());
  };
  const std::vector<float> want = gradients(DType::kF32, 1);
  const std::vector<float> scaled = gradients(DType::kF16, 65536);
  const std::vector<float> plain = gradients(DType::kF16, 1);
  double norm = 0;
  double lost = 0;
  double apart = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto value = static_cast<double>(want[i]);
    norm += value * value;
    lost += std::pow(static_cast<double>(plain[i]) - value, 2);
    apart += std::pow(static_cast<double>(scaled[i]) - value, 2);
  }
  ASSERT_GT(norm, 0.0);
  EXPECT_GT(lost, 0.5 * norm);
  EXPECT_LT(apart, 1e-3 * norm);
}

TEST(LossScale, DoublesAfterGoodStepsAndIsHalvedByABadOne) {
  ParameterArena arena{Layout()};
  LossScale scale(arena, 1024);
  const std::vector<float> good = {1.0F, -3.0e38F, 0.0F};
  for (std::int64_t i = 1; i < LossScale::kGoodSteps; ++i) ASSERT_TRUE(scale.update(good));
  EXPECT_EQ(scale.value(), 1024);
  EXPECT_TRUE(scale.update(good));
  EXPECT_EQ(scale.value(), 2048);
  for (const float bad : {std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const double before = scale.value();
    EXPECT_FALSE(scale.update(std::vector<float>{0.0F, bad}));
    EXPECT_EQ(scale.value(), before / 2);
  }
  // A bad step ends a row of good ones.
  for (std::int64_t i = 1; i < LossScale::kGoodSteps; ++i) ASSERT_TRUE(scale.update(good));
  EXPECT_EQ(scale.value(), 256);
}

TEST(LossScale, StaysInItsRange) {
  ParameterArena arena{Layout()};
  LossScale scale(arena, LossScale::kMax);
  for (std::int64_t i = 0; i < LossScale::kGoodSteps; ++i) scale.update({});
  EXPECT_EQ(scale.value(), LossScale::kMax);
  const std::vector<float> bad = {std::nanf("")};
  for (int i = 0; i < 60; ++i) scale.update(bad);
  EXPECT_EQ(scale.value(), 1.0);
}

TEST(LossScale, AStepThatOverflowsMovesNothing) {
  for (const bool capture : {false, true}) {
    Recipe recipe = f16_recipe(LossScale::kMax);
    recipe.run.capture = capture;
    const auto trainer = make_trainer(recipe);
    const std::vector<float> before = copy_of(trainer->arena().parameters());
    EXPECT_TRUE(run_rounds(*trainer, 1, 1)[0]);
    EXPECT_EQ(copy_of(trainer->arena().parameters()), before);
    const Array momentum = trainer->arena().state("momentum");
    EXPECT_EQ(*std::max_element(momentum.flat<float>().begin(), momentum.flat<float>().end()), 0);
    EXPECT_EQ(trainer->steps_done(), 1);
    // The scale comes down until steps are taken, and the run learns.
    const std::vector<bool> skipped = run_rounds(*trainer, 2, 40);
    EXPECT_FALSE(skipped.back());
    EXPECT_NE(copy_of(trainer->arena().parameters()), before);
    for (const float value : trainer->arena().parameters()) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(LossScale, ARunThatIsResumedBetweenOverflowsIsTheSame) {
  const Recipe recipe = f16_recipe(LossScale::kMax);
  const auto whole = make_trainer(recipe);
  run_rounds(*whole, 1, 20);
  const auto first = make_trainer(recipe);
  run_rounds(*first, 1, 3);
  const auto second = make_trainer(recipe);
  ASSERT_TRUE(second->decode(first->encode("00")).ok());
  EXPECT_EQ(second->digest(), first->digest());
  run_rounds(*second, 4, 20);
  EXPECT_EQ(second->digest(), whole->digest());
}

// Whoever applies the sums that others computed decides as they did.
TEST(LossScale, MembersThatOnlyApplySkipTheSameSteps) {
  const Recipe recipe = f16_recipe(LossScale::kMax);
  const auto computes = make_trainer(recipe);
  const auto applies = make_trainer(recipe);
  ScriptedExchange exchange{Round(12)};
  for (std::uint64_t round = 1; round <= 12; ++round) {
    Turn turn = *exchange.next();
    const bool skipped = computes->run_round(turn, exchange)->skipped;
    exchange.applied(Round(round), {});
    turn.kind = TurnKind::kApply;
    turn.reduced = exchange.results().at(round);
    turn.reports = exchange.reports(Round(round));
    EXPECT_EQ(applies->apply_round(turn)->skipped, skipped);
    EXPECT_EQ(applies->digest(), computes->digest());
  }
}

}  // namespace
}  // namespace weft::loss_scale_test
