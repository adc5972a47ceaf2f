// Groups of unequal members, played in one process with a clock of their own.
#include "weft/train/step/member_part.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/run/trainer.h"

namespace weft::member_part_test {
namespace {

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return at += tick; }
  std::int64_t unix_time_s() const override { return 0; }
  mutable TimePoint at{};
  Duration tick{};  // passes at each look
};

// Collects what a member gives, and what is to stand in for it; then, once there are sums, gives
// them. Computing takes `seconds` from begin() on.
class MemberExchange final : public RoundExchange {
 public:
  explicit MemberExchange(ManualClock& clock) : clock_(clock) {}

  Status begin(std::int64_t elements) override {
    clock_.at += from_seconds(seconds);
    return collector.begin(elements);
  }
  Status stand_in(const StandIn& given) override {
    stand_in_given = given;
    return {};
  }
  void contribute(std::int64_t offset, std::span<const float> values) override {
    collector.contribute(offset, values);
  }
  Status report(Bytes report) override { return collector.report(std::move(report)); }
  Result<RoundResult> finish() override {
    if (sums.empty()) return aborted("collected");
    return RoundResult{sums, reports};
  }
  Result<Turn> next() override { return Turn(); }
  void applied(Round /*round*/, const StateHash& /*hash*/) override {}
  StateLender* state_lender() override { return nullptr; }
  Result<ResidualState> residual_state() override { return ResidualState{}; }
  // The vector that stands in for a late member.
  std::vector<float> late_vector() const {
    const StandIn& given = stand_in_given;
    std::vector<float> out(static_cast<std::size_t>(given.elements));
    std::copy(given.carried.begin(), given.carried.end(), out.begin());
    return out;
  }
  // And the report that goes with it.
  const Bytes& late_report() const {
    return stand_in_given.carried.empty() ? stand_in_given.report : stand_in_given.carried_report;
  }

  CollectingExchange collector;
  StandIn stand_in_given;
  std::vector<float> sums;
  std::vector<Bytes> reports;
  double seconds = 0;

 private:
  ManualClock& clock_;
};

Recipe sixty_steps() {
  Recipe recipe = small_recipe();
  recipe.run.steps = 60;
  recipe.run.evaluate = false;
  recipe.optimizer.learning_rate = 0.02;
  return recipe;
}

PeerId peer_id(std::size_t number) {
  PeerId id;
  id.bytes[0] = static_cast<std::uint8_t>(number + 1);
  return id;
}

struct Group {
  Group(const Recipe& wanted, std::vector<double> seconds_per_sample)
      : recipe(wanted), rates(std::move(seconds_per_sample)) {
    for (std::size_t i = 0; i < rates.size(); ++i) add();
  }
  void add() {
    clocks.push_back(std::make_unique<ManualClock>());
    exchanges.push_back(std::make_unique<MemberExchange>(*clocks.back()));
    trainers.push_back(std::move(Trainer::make(recipe, {}, *clocks.back())).value());
  }
  Turn turn(std::size_t rank) const {
    Turn turn;
    turn.kind = TurnKind::kTrain;
    turn.round = Round(round);
    turn.rank = Rank(static_cast<int>(rank));
    turn.members = static_cast<int>(trainers.size());
    for (std::size_t i = 0; i < trainers.size(); ++i) turn.peers.push_back(peer_id(i));
    return turn;
  }
  // One round, for which the members in `late` come too late. Its time, if all are waited for.
  double run_round(const std::vector<std::size_t>& late = {}) {
    ++round;
    double slowest = 0;
    std::int64_t next = 0;
    std::vector<float> sums;
    given.clear();
    reports.clear();
    for (std::size_t i = 0; i < trainers.size(); ++i) {
      MemberExchange& exchange = *exchanges[i];
      const ShardRange shard = trainers[i]->shard(turn(i));
      EXPECT_EQ(shard.begin, next) << "in order, without gaps";
      next = shard.end;
      exchange.seconds = rates[i] * static_cast<double>(shard.size());
      slowest = std::max(slowest, exchange.seconds);
      exchange.sums.clear();
      EXPECT_EQ(trainers[i]->run_round(turn(i), exchange).status().code(), Code::kAborted);
      EXPECT_TRUE(exchange.collector.each_element_once());
      const bool is_late = std::count(late.begin(), late.end(), i) > 0;
      given.push_back(is_late ? exchange.late_vector() : exchange.collector.values());
      reports.push_back(is_late ? exchange.late_report() : exchange.collector.reported());
      if (sums.empty()) sums.resize(given.back().size());
      for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += given.back()[k];
    }
    EXPECT_EQ(next, recipe.run.global_batch) << "every sample once";
    for (std::size_t i = 0; i < trainers.size(); ++i) {
      exchanges[i]->sums = sums;
      exchanges[i]->reports = reports;
      const Result<StepReport> report = trainers[i]->run_round(turn(i), *exchanges[i]);
      EXPECT_TRUE(report.ok());
      last = *report;
      EXPECT_EQ(trainers[i]->hash().total, trainers[0]->hash().total);
    }
    return slowest;
  }
  std::vector<std::int64_t> split() {
    ++round;
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < trainers.size(); ++i) {
      sizes.push_back(trainers[i]->shard(turn(i)).size());
    }
    --round;
    return sizes;
  }
  std::vector<float> parameters() {
    const std::span<const float> values = trainers[0]->arena().parameters();
    return {values.begin(), values.end()};
  }

  Recipe recipe;
  std::vector<double> rates;
  std::uint64_t round = 0;
  std::vector<std::unique_ptr<ManualClock>> clocks;
  std::vector<std::unique_ptr<MemberExchange>> exchanges;
  std::vector<std::unique_ptr<Trainer>> trainers;
  std::vector<std::vector<float>> given;
  std::vector<Bytes> reports;  // of the last round, by rank
  StepReport last;
};

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

// Plain gradient descent, so that a step shows the gradient.
Recipe plain_recipe() {
  Recipe recipe = sixty_steps();
  recipe.optimizer.momentum = 0;
  recipe.optimizer.learning_rate = 0.5;
  recipe.group.wait = "deadline";
  recipe.group.deadline_ms = 100;
  return recipe;
}

// That the last step went along the mean of `given` over `samples` of a batch of 24.
void expect_mean_of(const Group& group, std::span<const float> before, std::span<const float> after,
                    double samples) {
  double worst = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    double sum = 0;
    for (const auto& vector : group.given) sum += static_cast<double>(vector[i]);
    const double expected = static_cast<double>(before[i]) - 0.5 * sum * 24.0 / samples;
    worst = std::max(worst, std::abs(static_cast<double>(after[i]) - expected));
  }
  EXPECT_LT(worst, 1e-5);
  EXPECT_EQ(group.last.metrics.samples, samples);
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
