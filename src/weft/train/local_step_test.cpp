#include "weft/train/step/local_step.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "weft/base/hash.h"
#include "weft/io/checkpoint.h"
#include "weft/train/exchange/collecting_exchange.h"
#include "weft/train/run/trainer.h"
#include "weft/train/run/wiring.h"

namespace weft::local_step_test {
namespace {

const SystemClock kClock;

Recipe local_recipe() {
  Recipe recipe;
  recipe.model.name = "mlp";
  recipe.model.hidden_units = 8;
  recipe.data.name = "synthetic";
  recipe.data.synthetic_samples = 256;
  recipe.optimizer.name = "adamw";
  recipe.optimizer.learning_rate = 0.004;
  recipe.optimizer.weight_decay = 0.1;
  recipe.run.steps = 18;
  recipe.run.global_batch = 11;
  recipe.local.steps = 5;
  recipe.local.outer_rate = 0.4;
  recipe.local.outer_momentum = 0.5;
  return recipe;
}

std::unique_ptr<Trainer> make_trainer(const Recipe& recipe) {
  Result<std::unique_ptr<Trainer>> made = Trainer::make(recipe, {}, kClock);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(made).value();
}

Turn turn_of(std::uint64_t round, int rank, int members) {
  Turn turn;
  turn.kind = TurnKind::kTrain;
  turn.round = Round(round);
  turn.rank = Rank(rank);
  turn.members = members;
  return turn;
}

// A member's part of a round, or what its parts come to.
struct Part {
  std::vector<float> sums;
  std::vector<Bytes> reports;
};

// It stays uncommitted.
Part contribution(Trainer& trainer, const Turn& turn) {
  CollectingExchange collector;
  EXPECT_EQ(trainer.run_round(turn, collector).status().code(), Code::kAborted);
  EXPECT_TRUE(collector.each_element_once());
  return {collector.values(), {collector.reported()}};
}

void add(Part& all, const Part& part) {
  all.sums.resize(part.sums.size());
  for (std::size_t i = 0; i < part.sums.size(); ++i) all.sums[i] += part.sums[i];
  all.reports.insert(all.reports.end(), part.reports.begin(), part.reports.end());
}

// Members with a state of their own each.
struct Group {
  std::vector<std::unique_ptr<Trainer>> members;
  std::vector<StepReport> reports;

  Group(const Recipe& recipe, int size) {
    for (int i = 0; i < size; ++i) members.push_back(make_trainer(recipe));
  }
  Part part(std::uint64_t number, int rank) {
    return contribution(*members[static_cast<std::size_t>(rank)],
                        turn_of(number, rank, static_cast<int>(members.size())));
  }
  void round(std::uint64_t number) {
    const int size = static_cast<int>(members.size());
    Part all;
    for (int rank = 0; rank < size; ++rank) add(all, part(number, rank));
    commit(number, all);
  }
  void commit(std::uint64_t number, const Part& all) {
    reports.clear();
    for (const auto& member : members) {
      Turn turn = turn_of(number, 0, static_cast<int>(members.size()));
      turn.reduced = all.sums;
      turn.reports = all.reports;
      const Result<StepReport> report = member->apply_round(turn);
      ASSERT_TRUE(report.ok()) << report.status().message();
      reports.push_back(*report);
      EXPECT_EQ(member->hash().total, members.front()->hash().total);
      EXPECT_EQ(member->digest(), members.front()->digest());
      EXPECT_EQ(member->encode("run"), members.front()->encode("run"));
    }
  }
  void run() {
    const std::uint64_t rounds = members.front()->training_rounds().value();
    for (std::uint64_t number = 1; number <= rounds; ++number) round(number);
  }
};

double relative_difference(std::span<const float> a, const std::vector<double>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

TEST(LocalSteps, RoundsCoverAllSteps) {
  const auto range = [](std::uint64_t round) { return steps_of_round(Round(round), 5, 18); };
  EXPECT_EQ(range(1).begin, 0);
  EXPECT_EQ(range(3).end, 15);
  EXPECT_EQ(range(4).begin, 15);
  EXPECT_EQ(range(4).end, 18);
  EXPECT_EQ(range(5).size(), 0);
  EXPECT_EQ(round_after(0, 5), Round(0));
  EXPECT_EQ(round_after(15, 5), Round(3));
  EXPECT_EQ(round_after(18, 5), Round(4));
}

// One inner step of SGD and an outer step that takes the mean are a step of data parallel training.
TEST(LocalSteps, OnePlainStepOfSgdIsDataParallel) {
  Recipe recipe = local_recipe();
  recipe.optimizer.name = "sgd";
  recipe.optimizer.momentum = 0;
  recipe.optimizer.weight_decay = 0.01;
  recipe.local.steps = 1;
  for (const int size : {1, 3}) {
    Group group(recipe, size);
    const auto local = make_trainer(recipe);
    LocalSteps steps(local->arena(), {1, recipe.run.steps, {false, 1.0, 0.0}, false});
    for (std::uint64_t round = 1; round <= 6; ++round) {
      group.round(round);
      Part all;
      for (int rank = 0; rank < size; ++rank) {
        CollectingExchange collector;
        // All have the same state, so that one plays them all.
        LocalSteps member(local->arena(), {1, recipe.run.steps, {false, 1.0, 0.0}, false});
        ASSERT_FALSE(member.run(local->parts(), turn_of(round, rank, size), collector).ok());
        add(all, {collector.values(), {collector.reported()}});
      }
      const StepReport report =
          steps.apply(local->parts(), turn_of(round, 0, size), {all.sums, all.reports}).value();
      EXPECT_NEAR(report.metrics.loss, group.reports.front().metrics.loss, 1e-5);
      EXPECT_EQ(report.metrics.correct, group.reports.front().metrics.correct);
      EXPECT_EQ(report.learning_rate, group.reports.front().learning_rate);
    }
    const std::span<const float> expected = group.members.front()->arena().parameters();
    EXPECT_LT(relative_difference(local->arena().parameters(), {expected.begin(), expected.end()}),
              1e-6)
        << size << " members";
  }
}

// DiLoCo of a perceptron with AdamW, written down plainly in f64.
class Reference {
 public:
  struct Member {
    std::vector<double> first;
    std::vector<double> second;
    int steps = 0;
    std::vector<double> waiting;  // overlapped: the pseudo-gradient that is on its way
  };

  Reference(const Recipe& recipe, Trainer& trainer, int size)
      : recipe_(recipe),
        trainer_(trainer),
        layout_(trainer.layout()),
        members_(static_cast<std::size_t>(size)) {
    const std::span<const float> start = trainer.arena().parameters();
    parameters_.assign(start.begin(), start.end());
    momentum_.assign(start.size(), 0.0);
    for (Member& member : members_) {
      member.first.assign(start.size(), 0.0);
      member.second.assign(start.size(), 0.0);
    }
  }
  const std::vector<double>& parameters() const { return parameters_; }

  void run() {
    const std::int64_t rounds = (recipe_.run.steps + recipe_.local.steps - 1) / recipe_.local.steps;
    for (std::int64_t round = 1; round <= rounds; ++round) {
      std::vector<double> mean(parameters_.size());
      std::vector<std::vector<double>> next(members_.size());
      for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        std::vector<double> moved;
        if (!recipe_.local.overlap || round == 1) moved = phase(rank, round);
        if (recipe_.local.overlap) {
          if (round > 1) moved = members_[rank].waiting;
          if (round < rounds) members_[rank].waiting = phase(rank, round + 1);
        }
        const double weight =
            static_cast<double>(shard(rank).size()) / static_cast<double>(recipe_.run.global_batch);
        for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += weight * moved[i];
      }
      for (std::size_t i = 0; i < mean.size(); ++i) {
        momentum_[i] = recipe_.local.outer_momentum * momentum_[i] + mean[i];
        parameters_[i] -=
            recipe_.local.outer_rate * (mean[i] + recipe_.local.outer_momentum * momentum_[i]);
      }
    }
  }

 private:
  ShardRange shard(std::size_t rank) const {
    return shard_of(recipe_.run.global_batch, static_cast<std::int64_t>(rank),
                    static_cast<std::int64_t>(members_.size()));
  }

  // Parameters before minus after the inner steps of `round`.
  std::vector<double> phase(std::size_t rank, std::int64_t round) {
    std::vector<double> own = parameters_;
    const StepParts parts = trainer_.parts();
    const std::int64_t begin = (round - 1) * recipe_.local.steps;
    const std::int64_t end = std::min(begin + recipe_.local.steps, recipe_.run.steps);
    for (std::int64_t step = begin; step < end; ++step) {
      const Batch batch = std::move(parts.loader.get(step, shard(rank))).value();
      adamw(own, gradient(own, batch), members_[rank],
            parts.learning_rate * schedule_factor(parts.schedule, step));
    }
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = parameters_[i] - own[i];
    return own;
  }

  void adamw(std::vector<double>& own, const std::vector<double>& gradient, Member& member,
             double rate) const {
    const Recipe::Optimizer& rule = recipe_.optimizer;
    ++member.steps;
    const double bias1 = 1 - std::pow(rule.beta1, member.steps);
    const double bias2 = 1 - std::pow(rule.beta2, member.steps);
    for (std::size_t i = 0; i < own.size(); ++i) {
      member.first[i] = rule.beta1 * member.first[i] + (1 - rule.beta1) * gradient[i];
      member.second[i] =
          rule.beta2 * member.second[i] + (1 - rule.beta2) * gradient[i] * gradient[i];
      own[i] -= rate * rule.weight_decay * own[i];
      own[i] -=
          rate * (member.first[i] / bias1) / (std::sqrt(member.second[i] / bias2) + rule.epsilon);
    }
  }

  // The gradient of the mean cross-entropy of x -> W2 relu(W1 x + b1) + b2.
  std::vector<double> gradient(const std::vector<double>& own, const Batch& batch) const {
    const auto at = [&](const char* name) {
      return static_cast<std::size_t>(layout_[layout_.find(name)].offset);
    };
    const std::size_t w1 = at("fc1.weight"), b1 = at("fc1.bias");
    const std::size_t w2 = at("fc2.weight"), b2 = at("fc2.bias");
    const auto hidden = static_cast<std::size_t>(recipe_.model.hidden_units);
    const auto rows = static_cast<std::size_t>(batch.inputs.dim(0));
    const std::size_t wide = batch.inputs.flat<float>().size() / rows;
    const auto classes = static_cast<std::size_t>(layout_[layout_.find("fc2.bias")].shape[0]);
    std::vector<double> out(own.size());
    for (std::size_t row = 0; row < rows; ++row) {
      const auto x = std::span<const float>(batch.inputs.flat<float>()).subspan(row * wide, wide);
      std::vector<double> h(hidden), p(classes), back(hidden);
      for (std::size_t j = 0; j < hidden; ++j) {
        h[j] = own[b1 + j];
        for (std::size_t k = 0; k < wide; ++k) h[j] += own[w1 + j * wide + k] * double{x[k]};
        h[j] = std::max(h[j], 0.0);
      }
      double total = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        p[c] = own[b2 + c];
        for (std::size_t j = 0; j < hidden; ++j) p[c] += own[w2 + c * hidden + j] * h[j];
        p[c] = std::exp(p[c]);
        total += p[c];
      }
      const auto label = static_cast<std::size_t>(batch.labels.flat<std::int64_t>()[row]);
      for (std::size_t c = 0; c < classes; ++c) {
        const double slope = (p[c] / total - (c == label ? 1 : 0)) / static_cast<double>(rows);
        out[b2 + c] += slope;
        for (std::size_t j = 0; j < hidden; ++j) {
          out[w2 + c * hidden + j] += slope * h[j];
          back[j] += slope * own[w2 + c * hidden + j];
        }
      }
      for (std::size_t j = 0; j < hidden; ++j) {
        if (h[j] <= 0) continue;
        out[b1 + j] += back[j];
        for (std::size_t k = 0; k < wide; ++k) out[w1 + j * wide + k] += back[j] * double{x[k]};
      }
    }
    return out;
  }

  const Recipe recipe_;
  Trainer& trainer_;
  const Layout layout_;
  std::vector<Member> members_;
  std::vector<double> parameters_;
  std::vector<double> momentum_;
};

TEST(LocalSteps, FollowTheReferenceInF64) {
  for (const bool overlap : {false, true}) {
    Recipe recipe = local_recipe();
    recipe.local.overlap = overlap;
    const auto data = make_trainer(recipe);
    Reference reference(recipe, *data, 3);
    reference.run();
    Group group(recipe, 3);
    group.run();
    EXPECT_EQ(group.members.front()->steps_done(), recipe.run.steps);
    EXPECT_EQ(group.members.front()->rounds_done(), Round(4));
    EXPECT_LT(
        relative_difference(group.members.front()->arena().parameters(), reference.parameters()),
        2e-4)
        << (overlap ? "overlapped" : "in turn");
  }
}

TEST(LocalSteps, TheMetricsAreTheMeansOfTheInnerSteps) {
  Group group(local_recipe(), 3);
  group.round(1);
  const RoundMetrics& metrics = group.reports.front().metrics;
  EXPECT_EQ(metrics.samples, 5 * 11.0);
  EXPECT_EQ(metrics.labels, 5 * 11.0);
  EXPECT_GT(metrics.loss, 0.5);
  EXPECT_LT(metrics.loss, 4.0);
  EXPECT_LE(metrics.accuracy(), 1.0);
  EXPECT_EQ(metrics.compute_seconds.size(), 3U);
}

TEST(LocalSteps, AnAbortedExchangeIsRepeatedWithoutTheInnerSteps) {
  for (const bool overlap : {false, true}) {
    Recipe recipe = local_recipe();
    recipe.local.overlap = overlap;
    const auto trainer = make_trainer(recipe);
    const StateHash before = trainer->hash();
    const auto whole = [&] {
      return xxh3_128(serialise_state(trainer->arena(), trainer->checkpoint_info("run")));
    };
    const Part first = contribution(*trainer, turn_of(1, 0, 3));
    EXPECT_EQ(trainer->hash().total, before.total);
    EXPECT_EQ(trainer->steps_done(), 0);
    const Hash128 own_state = whole();
    // Another view: fewer members, another rank. The samples behind the phase stay what they were.
    const Part second = contribution(*trainer, turn_of(1, 1, 2));
    EXPECT_EQ(whole(), own_state);
    EXPECT_EQ(first.sums, second.sums);
    EXPECT_EQ(first.reports, second.reports);
  }
}

// One of three members is lost after its inner steps: the mean is that of the others.
TEST(LocalSteps, TheMeanIsWeightedByTheSamplesThatArrived) {
  Recipe recipe = local_recipe();
  recipe.local.outer = "plain";
  recipe.local.outer_rate = 1.0;
  Group group(recipe, 3);
  const std::span<const float> shared = group.members.front()->arena().parameters();
  const std::vector<double> start(shared.begin(), shared.end());
  std::vector<Part> parts;
  parts.reserve(3);
  for (int rank = 0; rank < 3; ++rank) parts.push_back(group.part(1, rank));
  Part all = parts[0];
  add(all, parts[2]);
  group.commit(1, all);
  const double planned = 5 * 11.0;
  const auto samples = [&](int rank) {
    return 5.0 * static_cast<double>(shard_of(11, rank, 3).size());
  };
  const double weight = (samples(0) + samples(2)) / planned;
  std::vector<double> expected = start;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] -= (double{parts[0].sums[i]} + double{parts[2].sums[i]}) / weight;
  }
  EXPECT_LT(relative_difference(group.members.front()->arena().parameters(), expected), 1e-6);
  EXPECT_EQ(group.reports.front().metrics.samples, samples(0) + samples(2));
}

TEST(LocalSteps, ANewcomerGetsWhatAllShareAndKeepsItsOwn) {
  Recipe recipe = local_recipe();
  Group group(recipe, 2);
  group.round(1);
  group.round(2);
  const auto newcomer = make_trainer(recipe);
  const Bytes state = group.members.front()->encode("run");
  ASSERT_TRUE(newcomer->adopt(state).ok());
  EXPECT_EQ(newcomer->digest(), group.members.front()->digest());
  EXPECT_EQ(newcomer->steps_done(), 10);
  EXPECT_EQ(newcomer->rounds_done(), Round(2));
  for (const float value : newcomer->arena().state("mean").flat<float>()) ASSERT_EQ(value, 0.0F);
  group.members.push_back(make_trainer(recipe));
  ASSERT_TRUE(group.members.back()->adopt(state).ok());
  group.round(3);
  group.round(4);
  EXPECT_EQ(group.reports.front().metrics.samples, 3 * 11.0);
}

// Whoever comes in while the others compute ahead has nothing for its first round.
TEST(LocalSteps, OverlappedANewcomerContributesNothingFirst) {
  Recipe recipe = local_recipe();
  recipe.local.overlap = true;
  Group group(recipe, 2);
  group.round(1);
  group.members.push_back(make_trainer(recipe));
  ASSERT_TRUE(group.members.back()->adopt(group.members.front()->encode("run")).ok());
  group.round(2);
  // The two others had halved the batch for this round before it came.
  EXPECT_EQ(group.reports.front().metrics.samples, 5 * 11.0);
  group.round(3);
  EXPECT_EQ(group.reports.front().metrics.samples, 5 * 11.0);
  // All that are there are new: the round changes nothing, and there is no loss to speak of.
  Group fresh(recipe, 2);
  const Bytes state = group.members.front()->encode("run");
  for (const auto& member : fresh.members) ASSERT_TRUE(member->adopt(state).ok());
  const std::span<const float> before = fresh.members.front()->arena().parameters();
  const std::vector<double> expected(before.begin(), before.end());
  fresh.round(4);
  EXPECT_EQ(relative_difference(fresh.members.front()->arena().parameters(), expected), 0.0);
  EXPECT_TRUE(std::isnan(fresh.reports.front().metrics.loss));
}

TEST(LocalSteps, ACheckpointHoldsWhatAMemberNeedsToGoOn) {
  const Recipe recipe = local_recipe();
  Group whole(recipe, 1);
  whole.round(1);
  whole.round(2);
  const Trainer& member = *whole.members.front();
  const Bytes checkpoint =
      serialise_state(whole.members.front()->arena(), member.checkpoint_info("run"));
  whole.round(3);
  whole.round(4);
  Group resumed(recipe, 1);
  ASSERT_TRUE(resumed.members.front()->decode(checkpoint).ok());
  EXPECT_EQ(resumed.members.front()->rounds_done(), Round(2));
  resumed.round(3);
  resumed.round(4);
  EXPECT_EQ(resumed.members.front()->digest(), whole.members.front()->digest());
  // What is sent to newcomers is no checkpoint.
  EXPECT_FALSE(resumed.members.front()->decode(whole.members.front()->encode("run")).ok());
}

TEST(LocalSteps, SumsOfRoundsThatOthersCommittedAreApplied) {
  const Recipe recipe = local_recipe();
  Group group(recipe, 2);
  const auto laggard = make_trainer(recipe);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    Part all;
    for (int rank = 0; rank < 2; ++rank) add(all, group.part(round, rank));
    // It had begun the second round, too, and then lost the others.
    if (round == 2) contribution(*laggard, turn_of(2, 0, 1));
    group.commit(round, all);
    Turn turn = turn_of(round, 0, 2);
    turn.reduced = all.sums;
    turn.reports = all.reports;
    ASSERT_TRUE(laggard->apply_round(turn).ok());
    EXPECT_EQ(laggard->digest(), group.members.front()->digest());
  }
}

TEST(LocalSteps, LearnsWithEveryOuterStepAndInF16) {
  for (const char* form : {"plain", "nesterov", "overlap", "f16"}) {
    Recipe recipe = local_recipe();
    recipe.run.steps = 200;
    recipe.run.global_batch = 24;
    recipe.local.steps = 10;
    recipe.local.outer = std::string(form) == "plain" ? "plain" : "nesterov";
    recipe.local.overlap = std::string(form) == "overlap";
    if (std::string(form) == "f16") recipe.run.precision = "f16";
    Group group(recipe, 3);
    group.run();
    EXPECT_GT(group.members.front()->evaluate_alone()->accuracy(), 0.8) << form;
  }
}

TEST(LocalSteps, MoreMembersThanSamplesLeavesTheRestWithoutWeight) {
  Recipe recipe = local_recipe();
  recipe.run.global_batch = 2;
  Group group(recipe, 3);
  group.round(1);
  EXPECT_EQ(group.reports.front().metrics.samples, 10.0);
}

TEST(LocalSteps, AnOverlapThatWouldDivergeIsRefused) {
  Recipe recipe = local_recipe();
  recipe.local.overlap = true;
  recipe.local.outer_rate = 0.7;
  recipe.local.outer_momentum = 0.9;
  EXPECT_EQ(check_recipe(recipe).message(),
            "local.overlap: a mean that is applied one round late diverges with local.outer_rate = "
            "0.7 and local.outer_momentum = 0.9; try 0.4 and 0.5, or local.outer = \"plain\" with "
            "a rate below 1");
  recipe.local.steps = 1;
  EXPECT_EQ(check_recipe(recipe).message(), "local.overlap: expected local.steps above 1, got 1");
}

}  // namespace
}  // namespace weft::local_step_test
