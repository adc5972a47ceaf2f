// A group of unequal members, played in one process with a clock of their own. Tests only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/report/round_report.h"
#include "weft/train/run/trainer.h"

namespace weft::member_group {

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

inline Recipe sixty_steps() {
  Recipe recipe = small_recipe();
  recipe.run.steps = 60;
  recipe.run.evaluate = false;
  recipe.optimizer.learning_rate = 0.02;
  return recipe;
}

inline PeerId peer_id(std::size_t number) {
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

// Plain gradient descent, so that a step shows the gradient.
inline Recipe plain_recipe() {
  Recipe recipe = sixty_steps();
  recipe.optimizer.momentum = 0;
  recipe.optimizer.learning_rate = 0.5;
  recipe.group.wait = "deadline";
  recipe.group.deadline_ms = 100;
  return recipe;
}

// That the last step went along the mean of `given` over `samples` of a batch of 24.
inline void expect_mean_of(const Group& group, std::span<const float> before,
                           std::span<const float> after, double samples) {
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

}  // namespace weft::member_group
