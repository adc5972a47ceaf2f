#include "weft/train/step/step.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "weft/array/test_device.h"
#include "weft/base/parallel.h"
#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::step_test {
namespace {

Recipe recipe_of(const std::string& model) {
  Recipe recipe = small_recipe();
  recipe.model.name = model;
  recipe.model.hidden_units = 32;
  recipe.data.synthetic_samples = 512;
  recipe.run.steps = 50;
  recipe.optimizer.learning_rate = 0.02;
  recipe.schedule = Recipe().schedule;
  return recipe;
}

// The run of `members` equal peers; all hold the same state, so one trainer plays every rank.
std::unique_ptr<Trainer> train(const Recipe& recipe, int members) {
  static const SystemClock clock;
  auto trainer = std::move(Trainer::make(recipe, {}, clock)).value();
  CollectingExchange collector;
  for (std::int64_t round = 1; round <= recipe.run.steps; ++round) {
    Turn turn;
    turn.kind = TurnKind::kTrain;
    turn.round = Round(static_cast<std::uint64_t>(round));
    turn.members = members;
    std::vector<float> sums;
    turn.reports.clear();
    for (int rank = 0; rank < members; ++rank) {
      turn.rank = Rank(rank);
      EXPECT_EQ(trainer->run_round(turn, collector).status().code(), Code::kAborted);
      EXPECT_TRUE(collector.each_element_once());
      if (sums.empty()) sums.assign(collector.values().size(), 0.0F);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += collector.values()[i];
      turn.reports.push_back(collector.reported());
    }
    turn.reduced = sums;
    const Result<StepReport> report = trainer->apply_round(turn);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report->metrics.samples, static_cast<double>(recipe.run.global_batch));
  }
  return trainer;
}

TEST(Step, MathematicsDoesNotDependOnTheNumberOfMembers) {
  const Recipe recipe = recipe_of("mlp");
  const auto alone = train(recipe, 1);
  for (const int members : {2, 3, 4, 7}) {
    const auto split = train(recipe, members);
    EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-5)
        << members << " members";
  }
}

TEST(Step, MoreMembersThanSamplesLeavesTheRestIdle) {
  Recipe recipe = recipe_of("mlp");
  recipe.run.global_batch = 3;
  recipe.run.steps = 5;
  const auto alone = train(recipe, 1);
  const auto split = train(recipe, 5);
  EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-5);
}

TEST(Step, MicroBatchesAddUpToTheWholeBatch) {
  Recipe recipe = recipe_of("mlp");
  recipe.run.label_smoothing = 0.1;
  const auto whole = train(recipe, 1);
  for (const std::int64_t piece : {1, 5, 12, 24, 100}) {
    recipe.run.micro_batch = piece;
    for (const int members : {1, 3}) {
      const auto split = train(recipe, members);
      EXPECT_LT(relative_difference(split->arena().parameters(), whole->arena().parameters()), 1e-5)
          << piece << " at a time, " << members << " members";
    }
  }
}

TEST(Step, ClippedGradientsHaveTheNormThatWasAsked) {
  Recipe recipe = recipe_of("mlp");
  recipe.run.steps = 1;
  recipe.schedule.name = "constant";
  recipe.optimizer.momentum = 0;
  recipe.optimizer.learning_rate = 1.0;
  const auto measure = [&](const Recipe& wanted) {
    static const SystemClock clock;
    const auto fresh = std::move(Trainer::make(wanted, {}, clock)).value();
    const auto moved = train(wanted, 2);
    double norm = 0;
    for (std::size_t i = 0; i < moved->arena().parameters().size(); ++i) {
      const auto step = static_cast<double>(moved->arena().parameters()[i]) -
                        static_cast<double>(fresh->arena().parameters()[i]);
      norm += step * step;
    }
    return std::sqrt(norm);
  };
  EXPECT_GT(measure(recipe), 0.5);
  recipe.optimizer.clip_norm = 0.125;
  EXPECT_NEAR(measure(recipe), 0.125, 1e-4);
  recipe.optimizer.clip_norm = 0;
  recipe.optimizer.clip_value = 1e-3;
  EXPECT_LT(measure(recipe), 1e-3 * std::sqrt(30000.0));
}

TEST(Step, EveryOptimizerTrainsTheModel) {
  for (const std::string& name : optimizer_names()) {
    Recipe recipe = recipe_of("mlp");
    recipe.optimizer.name = name;
    recipe.optimizer.learning_rate = name == "adadelta" ? 5.0 : name == "lion" ? 1e-3 : 0.02;
    if (name == "rmsprop") recipe.optimizer.momentum = 0;
    if (name == "rmsprop") recipe.optimizer.learning_rate = 1e-3;
    const auto trainer = train(recipe, 2);
    const Result<RoundReport> measured = trainer->evaluate_alone();
    ASSERT_TRUE(measured.ok()) << name;
    EXPECT_GT(measured->accuracy(), 0.8) << name;
  }
}

TEST(Step, LowPrecisionLearnsAsWellAndKeepsItsMastersInF32) {
  Recipe recipe = recipe_of("mlp");
  const auto full = train(recipe, 1);
  const double want = full->evaluate_alone()->accuracy();
  for (const char* precision : {"bf16", "f16"}) {
    recipe.run.precision = precision;
    const auto low = train(recipe, 2);
    EXPECT_NEAR(low->evaluate_alone()->accuracy(), want, 0.02) << precision;
    const double apart = relative_difference(low->arena().parameters(), full->arena().parameters());
    EXPECT_GT(apart, 0.0) << precision;
    EXPECT_LT(apart, 0.05) << precision;
  }
}

// A scale that is a power of two leaves no trace in f32.
TEST(Step, TheLossScaleIsTakenOutAgain) {
  Recipe recipe = recipe_of("mlp");
  recipe.run.precision = "f16";
  recipe.run.loss_scale = 1.0;
  const auto plain = train(recipe, 1);
  recipe.run.loss_scale = 256.0;
  const auto scaled = train(recipe, 1);
  EXPECT_LT(relative_difference(scaled->arena().parameters(), plain->arena().parameters()), 5e-3);
}

// A text of eight letters in turn: each letter tells the next one for certain.
Recipe text_recipe(const std::string& model) {
  const std::string path = testing::TempDir() + "/step_test_text.txt";
  std::ofstream file(path);
  for (int i = 0; i < 500; ++i) file << "abcdefgh";
  Recipe recipe;
  recipe.model.name = model;
  recipe.model.layers = 1;
  recipe.model.embedding_width = 16;
  recipe.model.hidden_units = 16;
  recipe.model.heads = 2;
  recipe.model.kv_heads = 1;
  recipe.data.name = "text";
  recipe.data.path = path;
  recipe.data.context = 12;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.learning_rate = 0.01;
  recipe.run.steps = 60;
  recipe.run.global_batch = 10;
  return recipe;
}

TEST(Step, TextModelsLearnAndTheNumberOfMembersDoesNotMatter) {
  for (const char* model : {"char_gpt", "llama", "lstm_lm"}) {
    SCOPED_TRACE(model);
    Recipe recipe = text_recipe(model);
    recipe.optimizer.clip_norm = 1.0;
    const auto alone = train(recipe, 1);
    recipe.run.micro_batch = 2;
    const auto split = train(recipe, 3);
    EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 2e-3);
    const Result<RoundReport> measured = alone->evaluate_alone();
    ASSERT_TRUE(measured.ok()) << measured.status().message();
    EXPECT_EQ(measured->labels, measured->samples * 12);
    EXPECT_GT(measured->accuracy(), 0.95);
    EXPECT_LT(*alone->bits_per_character(measured->loss), 1.0);
    EXPECT_NEAR(*alone->bits_per_character(std::log(2.0)), 1.0, 1e-12);
  }
}

TEST(Step, AModelOfTextRefusesImagesAndTheOtherWayRound) {
  static const SystemClock clock;
  Recipe recipe = text_recipe("char_gpt");
  recipe.data = {};
  recipe.data.name = "synthetic";
  EXPECT_EQ(Trainer::make(recipe, {}, clock).status().message(),
            "model.name: char_gpt takes tokens, but synthetic holds images");
  recipe = text_recipe("mlp");
  EXPECT_EQ(Trainer::make(recipe, {}, clock).status().code(), Code::kInvalidArgument);
  EXPECT_FALSE(std::move(Trainer::make(recipe_of("mlp"), {}, clock))
                   .value()
                   ->bits_per_character(1.0)
                   .has_value());
}

TEST(Step, FrozenParametersStayAndTheOthersLearn) {
  static const SystemClock clock;
  Recipe recipe = recipe_of("mlp");
  const auto fresh = std::move(Trainer::make(recipe, {}, clock)).value();
  const std::string first = fresh->layout()[0].name;
  recipe.optimizer.groups = first + " frozen";
  const auto trained = train(recipe, 2);
  EXPECT_EQ(trained->arena().parameter(0).to_vector<float>(),
            fresh->arena().parameter(0).to_vector<float>());
  EXPECT_NE(trained->arena().parameter(2).to_vector<float>(),
            fresh->arena().parameter(2).to_vector<float>());
}

TEST(Step, CapturedStepsHaveTheBitsOfEagerOnes) {
  Recipe recipe = text_recipe("char_gpt");
  recipe.run.steps = 6;
  for (const bool text : {true, false}) {
    if (!text) recipe = recipe_of("cnn");
    recipe.run.steps = 6;
    recipe.model.dropout = true;
    recipe.run.micro_batch = text ? 4 : 0;
    recipe.run.capture = false;
    const auto eager = train(recipe, 2);
    recipe.run.capture = true;
    const auto captured = train(recipe, 2);
    EXPECT_EQ(captured->digest(), eager->digest()) << recipe.model.name;
  }
}

TEST(Step, CountsTokensThatWerePredictedRight) {
  const Array logits =
      Array::from(std::vector<float>{0, 1, 2, 5, 1, 2, 0, 9, 2, 3, 2, 1}, {2, 2, 3});
  const Array labels = Array::from(std::vector<std::int64_t>{2, 0, 0, 0}, {2, 2});
  EXPECT_EQ(count_correct(logits, labels), 3);
  const TestDevice test;
  EXPECT_EQ(count_correct(logits.to(test.device()), labels.to(test.device())), 3);
}

TEST(Step, BitsDoNotDependOnTheNumberOfThreads) {
  for (const char* model : {"mlp", "lenet"}) {
    Recipe recipe = recipe_of(model);
    recipe.run.steps = 5;
    std::string digest;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      const std::string now = train(recipe, 1)->digest();
      if (digest.empty()) digest = now;
      EXPECT_EQ(now, digest) << model << ", " << threads << " threads";
    }
  }
  set_thread_count(1);
}

TEST(Step, DropoutMasksAreThoseOfTheWholeBatch) {
  Recipe recipe = recipe_of("cnn");
  recipe.model.dropout = true;
  recipe.run.global_batch = 6;
  recipe.run.steps = 2;
  const auto alone = train(recipe, 1);
  const auto split = train(recipe, 3);
  EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-4);
}

// A batch norm's running statistics: each member's change counts by its share of the batch, and
// nothing moves before the round is committed.
TEST(Step, RunningStatisticsBecomeTheMembersMean) {
  static const SystemClock clock;
  Recipe recipe = recipe_of("resnet9");
  recipe.run.global_batch = 6;
  recipe.optimizer.clip_norm = 1.0;
  const auto trainer = std::move(Trainer::make(recipe, {}, clock)).value();
  const std::string before = trainer->digest();
  const int mean = trainer->layout().find("p.1.running_mean");
  ASSERT_GE(mean, 0);
  const auto offset = static_cast<std::size_t>(trainer->layout()[mean].offset);
  CollectingExchange collector;
  Turn turn;
  turn.round = Round(1);
  turn.members = 2;
  std::vector<float> sums;
  for (int rank = 0; rank < 2; ++rank) {
    turn.rank = Rank(rank);
    EXPECT_EQ(trainer->run_round(turn, collector).status().code(), Code::kAborted);
    EXPECT_TRUE(collector.each_element_once());
    EXPECT_NE(collector.values()[offset], 0.0F);
    if (sums.empty()) sums.assign(collector.values().size(), 0.0F);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += collector.values()[i];
    turn.reports.push_back(collector.reported());
  }
  EXPECT_EQ(trainer->digest(), before);
  turn.reduced = sums;
  ASSERT_TRUE(trainer->apply_round(turn).ok());
  EXPECT_EQ(trainer->arena().parameter(mean).to_vector<float>()[0], sums[offset]);
}

TEST(Step, LearnsTheSyntheticClusters) {
  Recipe recipe = recipe_of("mlp");
  const auto trainer = train(recipe, 1);
  EXPECT_EQ(trainer->steps_done(), recipe.run.steps);
  CollectingExchange collector;
  Turn turn;
  turn.round = last_round(recipe);
  turn.members = 1;
  ASSERT_TRUE(trainer->is_evaluation(turn.round));
  EXPECT_EQ(trainer->run_round(turn, collector).status().code(), Code::kAborted);
  const RoundMetrics metrics = fold_reports(std::span(&collector.reported(), 1));
  EXPECT_EQ(metrics.samples, 128.0);
  EXPECT_GT(metrics.correct, 0.9 * metrics.samples);
}

TEST(Step, SumsOfAnotherLengthAreRefused) {
  static const SystemClock clock;
  auto trainer = std::move(Trainer::make(recipe_of("mlp"), {}, clock)).value();
  const std::vector<float> wrong(10);
  Turn turn;
  turn.round = Round(1);
  turn.members = 1;
  turn.reduced = wrong;
  EXPECT_FALSE(trainer->apply_round(turn).ok());
}

TEST(State, HashesNameTheTensorThatDiffers) {
  static const SystemClock clock;
  auto a = std::move(Trainer::make(recipe_of("mlp"), {}, clock)).value();
  auto b = std::move(Trainer::make(recipe_of("mlp"), {}, clock)).value();
  EXPECT_EQ(a->hash().total, b->hash().total);
  EXPECT_EQ(a->digest(), b->digest());
  b->arena().parameter(1).fill(0.125);
  EXPECT_NE(a->hash().total, b->hash().total);
  EXPECT_NE(a->digest(), b->digest());
  const StateHash left = a->hash();
  const StateHash right = b->hash();
  for (std::size_t i = 0; i < left.tensors.size(); ++i) {
    EXPECT_EQ(left.tensors[i] == right.tensors[i], i != 1) << left.tensors[i].name;
  }
  ASSERT_TRUE(b->decode(a->encode("x")).ok());
  EXPECT_EQ(a->digest(), b->digest());
}

}  // namespace
}  // namespace weft::step_test
