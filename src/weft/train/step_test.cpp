#include "weft/train/step.h"

#include <cmath>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/train/trainer.h"
#include "weft/train/wiring.h"

namespace weft {
namespace {

Recipe small_recipe(const std::string& model) {
  Recipe recipe;
  recipe.model.name = model;
  recipe.model.hidden_units = 32;
  recipe.data.name = "synthetic";
  recipe.data.synthetic_samples = 512;
  recipe.run.steps = 50;
  recipe.run.global_batch = 24;
  recipe.optimizer.learning_rate = 0.02;
  return recipe;
}

// Keeps what one member contributes and then aborts, so that the state stays untouched: the sums
// over all members come back as a turn of kind kApply.
class Collector final : public Exchange {
 public:
  Status begin(std::int64_t elements) override {
    values_.assign(static_cast<std::size_t>(elements), 0.0F);
    filled_.assign(static_cast<std::size_t>(elements), 0);
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values_[static_cast<std::size_t>(offset) + i] = values[i];
      ++filled_[static_cast<std::size_t>(offset) + i];
    }
  }
  Result<std::span<const float>> finish() override { return aborted("collected"); }
  bool each_element_once() const {
    for (const int count : filled_) {
      if (count != 1) return false;
    }
    return true;
  }
  const std::vector<float>& values() const { return values_; }

  Result<Turn> next() override { return Turn(); }
  void applied(Round /*round*/, const StateHash& /*hash*/) override {}
  void publish_state(Round /*round*/, Bytes /*state*/) override {}
  Status leave(Duration /*limit*/) override { return {}; }
  std::string ticket(Duration /*valid_for*/) override { return ""; }
  SwarmStatus status() override { return {}; }
  std::vector<SwarmEvent> take_events() override { return {}; }
  const PeerId& self() const override { return self_; }

 private:
  PeerId self_;
  std::vector<float> values_;
  std::vector<int> filled_;
};

// The run of `members` equal peers; all hold the same state, so one trainer plays every rank.
std::unique_ptr<Trainer> train(const Recipe& recipe, int members) {
  static const SystemClock clock;
  auto trainer = std::move(Trainer::make(recipe, {}, clock)).value();
  Collector collector;
  for (std::int64_t round = 1; round <= recipe.run.steps; ++round) {
    Turn turn;
    turn.kind = TurnKind::kTrain;
    turn.round = Round(static_cast<std::uint64_t>(round));
    turn.members = members;
    std::vector<float> sums;
    for (int rank = 0; rank < members; ++rank) {
      turn.rank = Rank(rank);
      EXPECT_EQ(trainer->run_round(turn, collector).status().code(), Code::kAborted);
      EXPECT_TRUE(collector.each_element_once());
      if (sums.empty()) sums.assign(collector.values().size(), 0.0F);
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += collector.values()[i];
    }
    turn.reduced = sums;
    const Result<StepReport> report = trainer->apply_round(turn);
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report->metrics.samples, static_cast<double>(recipe.run.global_batch));
  }
  return trainer;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    norm += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / norm);
}

TEST(Step, MathematicsDoesNotDependOnTheNumberOfMembers) {
  const Recipe recipe = small_recipe("mlp");
  const auto alone = train(recipe, 1);
  for (const int members : {2, 3, 4, 7}) {
    const auto split = train(recipe, members);
    EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-5)
        << members << " members";
  }
}

TEST(Step, MoreMembersThanSamplesLeavesTheRestIdle) {
  Recipe recipe = small_recipe("mlp");
  recipe.run.global_batch = 3;
  recipe.run.steps = 5;
  const auto alone = train(recipe, 1);
  const auto split = train(recipe, 5);
  EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-5);
}

TEST(Step, BitsDoNotDependOnTheNumberOfThreads) {
  for (const char* model : {"mlp", "lenet"}) {
    Recipe recipe = small_recipe(model);
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
  Recipe recipe = small_recipe("cnn");
  recipe.model.dropout = true;
  recipe.run.global_batch = 6;
  recipe.run.steps = 2;
  const auto alone = train(recipe, 1);
  const auto split = train(recipe, 3);
  EXPECT_LT(relative_difference(split->arena().parameters(), alone->arena().parameters()), 1e-4);
}

TEST(Step, LearnsTheSyntheticClusters) {
  Recipe recipe = small_recipe("mlp");
  const auto trainer = train(recipe, 1);
  EXPECT_EQ(trainer->steps_done(), recipe.run.steps);
  Collector collector;
  Turn turn;
  turn.round = last_round(recipe);
  turn.members = 1;
  ASSERT_TRUE(trainer->is_evaluation(turn.round));
  EXPECT_EQ(trainer->run_round(turn, collector).status().code(), Code::kAborted);
  const RoundMetrics metrics = decode_metrics(collector.values(), 1);
  EXPECT_EQ(metrics.samples, 128.0);
  EXPECT_GT(metrics.correct, 0.9 * metrics.samples);
}

TEST(Step, SumsOfAnotherLengthAreRefused) {
  static const SystemClock clock;
  auto trainer = std::move(Trainer::make(small_recipe("mlp"), {}, clock)).value();
  const std::vector<float> wrong(10);
  Turn turn;
  turn.round = Round(1);
  turn.members = 1;
  turn.reduced = wrong;
  EXPECT_FALSE(trainer->apply_round(turn).ok());
}

TEST(State, HashesNameTheTensorThatDiffers) {
  static const SystemClock clock;
  auto a = std::move(Trainer::make(small_recipe("mlp"), {}, clock)).value();
  auto b = std::move(Trainer::make(small_recipe("mlp"), {}, clock)).value();
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
}  // namespace weft
