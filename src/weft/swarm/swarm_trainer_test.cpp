// Members in one process, over loopback TLS, each with a training thread of its own.
#include "weft/swarm/swarm_trainer.h"

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/base/rng.h"
#include "weft/base/thread.h"
#include "weft/nn/containers.h"
#include "weft/nn/layers.h"
#include "weft/op/loss.h"
#include "weft/op/reduce.h"
#include "weft/optim/clip.h"

namespace weft::swarm_trainer_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr std::int64_t kSamples = 24;
constexpr std::int64_t kInputs = 5;

// inputs [kSamples, kInputs] and a target for each, the same in every process.
struct Data {
  Array inputs = Array::empty({kSamples, kInputs});
  Array targets = Array::empty({kSamples, 1});
  Data() {
    Rng rng(11);
    for (float& value : inputs.flat<float>()) value = static_cast<float>(rng.normal());
    for (float& value : targets.flat<float>()) value = static_cast<float>(rng.normal());
  }
};

// A model whose batch norm has running statistics, its arena and its optimizer.
struct Learner {
  explicit Learner(std::uint64_t seed, const std::string& name = "adam") {
    model.add<Linear>("in", kInputs, 8);
    model.add<BatchNorm1d>("norm", 8);
    model.add<Linear>("out", 8, 1);
    model.initialize(seed);
    arena.emplace(model.layout());
    model.bind(*arena);
    optimizer = *make_optimizer({.name = name, .learning_rate = 0.01}, *arena);
  }

  // Samples [begin, end): backward of the mean; their number, and the loss.
  SwarmPart learn(const Data& data, std::int64_t begin, std::int64_t end) {
    const Tensor outputs = model.forward(Tensor(data.inputs.slice(0, begin, end)));
    const Tensor loss = mse_loss(outputs, Tensor(data.targets.slice(0, begin, end)));
    backward(loss);
    return {static_cast<double>(end - begin), loss.item()};
  }

  std::vector<float> values() const {
    const auto all = std::as_const(*arena).parameters();
    return {all.begin(), all.end()};
  }

  Sequential model;
  std::optional<ParameterArena> arena;
  std::unique_ptr<Optimizer> optimizer;
};

SwarmTrainerOptions loopback(SwarmGroupOptions group) {
  SwarmTrainerOptions options;
  options.program = "swarm_trainer_test 1";
  options.group = std::move(group);
  options.member.listen = "127.0.0.1:0";
  options.timeout = seconds(60);
  return options;
}

// The equal part of a member in a batch of all samples.
SwarmPart learn_part(Learner& learner, const Data& data, const SwarmTrainer& trainer) {
  const std::int64_t begin = kSamples * trainer.rank() / trainer.members();
  const std::int64_t end = kSamples * (trainer.rank() + 1) / trainer.members();
  return learner.learn(data, begin, end);
}

struct Outcome {
  Status status;
  std::vector<double> losses;
  std::vector<float> values;
  std::string hash;
};

Outcome train(SwarmTrainer& trainer, Learner& learner) {
  const Data data;
  Outcome out;
  for (;;) {
    const Result<bool> more = trainer.next();
    out.status = internal::as_status(more);
    if (!more.ok() || !*more) break;
    const Result<SwarmStep> step = trainer.step(learn_part(learner, data, trainer));
    out.status = internal::as_status(step);
    if (!step.ok()) break;
    out.losses.push_back(step->loss);
  }
  out.values = learner.values();
  out.hash = trainer.state_hash();
  if (out.status.ok()) out.status = trainer.leave();
  return out;
}

TEST(SwarmTrainer, TwoMembersHoldTheSameBitsAndLearnFromAllSamples) {
  constexpr std::uint64_t kRounds = 30;
  // Its values may differ from the founder's until it has the group's.
  Learner first(1, "sgd");
  Learner second(2, "sgd");
  auto options = loopback({.rounds = kRounds, .start_members = 2});
  options.settings = "spiral\nof two";
  const auto founder = SwarmTrainer::found(*first.arena, *first.optimizer, options);
  ASSERT_TRUE(founder.ok()) << founder.status().to_string();
  const auto joiner =
      SwarmTrainer::join(*(*founder)->ticket(), *second.arena, *second.optimizer, loopback({}));
  ASSERT_TRUE(joiner.ok()) << joiner.status().to_string();
  EXPECT_EQ((*joiner)->settings(), "spiral\nof two");

  Outcome second_outcome;
  Thread thread([&] { second_outcome = train(**joiner, second); });
  const Outcome outcome = train(**founder, first);
  thread.join();
  ASSERT_TRUE(outcome.status.ok()) << outcome.status.to_string();
  ASSERT_TRUE(second_outcome.status.ok()) << second_outcome.status.to_string();
  EXPECT_EQ(outcome.hash, second_outcome.hash);
  EXPECT_EQ(outcome.values, second_outcome.values);
  EXPECT_EQ((*founder)->rounds_done(), kRounds);
  EXPECT_TRUE((*founder)->finished());
  ASSERT_EQ(outcome.losses.size(), kRounds);
  EXPECT_EQ(outcome.losses, second_outcome.losses);
  EXPECT_LT(outcome.losses.back(), outcome.losses.front());

  // The same by one: half a batch at a time, the mean of both.
  Learner alone(1, "sgd");
  const Data data;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    alone.arena->zero_gradients();
    const auto before = alone.values();
    std::vector<float> halves[2];
    for (int half = 0; half < 2; ++half) {
      std::ranges::copy(before, alone.arena->parameters().begin());
      static_cast<void>(alone.learn(data, half * kSamples / 2, (half + 1) * kSamples / 2));
      halves[half] = alone.values();
    }
    // Only the running statistics have moved: to the mean of both ways.
    for (std::size_t i = 0; i < before.size(); ++i) {
      alone.arena->parameters()[i] = (halves[0][i] + halves[1][i]) / 2;
    }
    for (float& value : alone.arena->gradients()) value /= 2;
    alone.optimizer->step();
  }
  for (std::size_t i = 0; i < outcome.values.size(); ++i) {
    EXPECT_NEAR(outcome.values[i], alone.values()[i], 1e-5) << i;
  }
}

// Ends its part of a group that changes: see the test below.
struct Watch {
  Atomic<int> rounds_of_three = 0;  // of the first member
  Atomic<int> rounds_after = 0;     // of two, after there were three
  Atomic<bool> second_gone = false;
};

struct Trace {
  std::map<std::uint64_t, std::string> hashes;  // by rounds done
  Status status;
};

void follow_group(SwarmTrainer& trainer, Learner& learner, Watch& watch, bool counts, Trace& out) {
  const Data data;
  for (;;) {
    const Result<bool> more = trainer.next();
    out.status = internal::as_status(more);
    if (!more.ok() || !*more) return;
    const int members = trainer.members();
    const Result<SwarmStep> step = trainer.step(learn_part(learner, data, trainer));
    out.status = internal::as_status(step);
    if (!step.ok()) return;
    out.hashes[trainer.rounds_done()] = trainer.state_hash();
    if (counts && members == 3) ++watch.rounds_of_three;
    if (counts && watch.second_gone && members == 2) ++watch.rounds_after;
  }
}

TEST(SwarmTrainer, AThirdJoinsInTheMiddleAndOneDies) {
  Learner learners[3] = {Learner(1), Learner(2), Learner(3)};
  Watch watch;
  Trace traces[3];
  auto options = loopback({.start_members = 2});
  options.stop = [&] { return watch.rounds_after > 10; };
  auto first = *SwarmTrainer::found(*learners[0].arena, *learners[0].optimizer, options);
  auto joined = loopback({});
  joined.stop = [&] { return watch.rounds_of_three > 10; };
  auto second =
      *SwarmTrainer::join(*first->ticket(), *learners[1].arena, *learners[1].optimizer, joined);
  std::unique_ptr<SwarmTrainer> third;
  const std::string ticket = *first->ticket();

  Thread dying([&] {
    follow_group(*second, learners[1], watch, false, traces[1]);
    second.reset();  // without a word
    watch.second_gone = true;
  });
  Thread late([&] {
    auto third_options = loopback({});
    third_options.stop = options.stop;
    Result<std::unique_ptr<SwarmTrainer>> made =
        SwarmTrainer::join(ticket, *learners[2].arena, *learners[2].optimizer, third_options);
    traces[2].status = internal::as_status(made);
    if (!made.ok()) return;
    third = *std::move(made);
    follow_group(*third, learners[2], watch, false, traces[2]);
    static_cast<void>(third->leave());
  });
  follow_group(*first, learners[0], watch, true, traces[0]);
  static_cast<void>(first->leave());
  dying.join();
  late.join();
  for (const Trace& trace : traces) EXPECT_TRUE(trace.status.ok()) << trace.status.to_string();
  for (const int other : {1, 2}) {
    int compared = 0;
    for (const auto& [rounds, hash] : traces[other].hashes) {
      const auto same = traces[0].hashes.find(rounds);
      if (same == traces[0].hashes.end()) continue;
      ++compared;
      EXPECT_EQ(hash, same->second) << "member " << other << " after round " << rounds;
    }
    EXPECT_GT(compared, 10) << other;
  }
}

TEST(SwarmTrainer, UpdatesAreWhatTheProgramMakesOfThem) {
  Learner clipped(1);
  Learner by_hand(1);
  auto options = loopback({.rounds = 5});
  options.before_update = [&](std::span<float> gradients) {
    clip_by_global_norm(gradients, 0.1);
    clipped.optimizer->set_learning_rate(1.0 / static_cast<double>(8 + clipped.optimizer->steps()));
  };
  auto trainer = *SwarmTrainer::found(*clipped.arena, *clipped.optimizer, options);
  const Data data;
  for (int round = 0; *trainer->next(); ++round) {
    const SwarmPart part = clipped.learn(data, 0, kSamples);
    EXPECT_TRUE(trainer->step({.weight = 1, .loss = part.loss})->counted);
    by_hand.arena->zero_gradients();
    by_hand.learn(data, 0, kSamples);
    clip_by_global_norm(by_hand.arena->gradients(), 0.1);
    by_hand.optimizer->set_learning_rate(1.0 / (8 + round));
    by_hand.optimizer->step();
  }
  EXPECT_EQ(trainer->rounds_done(), 5U);
  for (std::size_t i = 0; i < clipped.values().size(); ++i) {
    EXPECT_NEAR(clipped.values()[i], by_hand.values()[i], 1e-5) << i;
  }
}

TEST(SwarmTrainer, WithoutSamplesNothingMoves) {
  Learner learner(1);
  auto trainer = *SwarmTrainer::found(*learner.arena, *learner.optimizer, loopback({.rounds = 1}));
  const auto before = learner.values();
  ASSERT_TRUE(*trainer->next());
  std::ranges::fill(learner.arena->gradients(), std::nanf(""));
  const Result<SwarmStep> step = trainer->step({.weight = 0});
  ASSERT_TRUE(step.ok()) << step.status().to_string();
  EXPECT_EQ(step->weight, 0);
  EXPECT_EQ(learner.values(), before);
  EXPECT_EQ(learner.optimizer->steps(), 0);
  EXPECT_FALSE(*trainer->next());
}

TEST(SwarmTrainer, WrongCallsAreNamed) {
  Learner learner(1);
  auto trainer = *SwarmTrainer::found(*learner.arena, *learner.optimizer, loopback({.rounds = 1}));
  EXPECT_THAT(trainer->step().status().message(), HasSubstr("expected next()"));
  ASSERT_TRUE(*trainer->next());
  EXPECT_THAT(trainer->step({.weight = -1}).status().message(), HasSubstr("got -1"));
  EXPECT_TRUE(trainer->step().ok());  // neither has put it out of the group
  EXPECT_FALSE(*trainer->next());
  EXPECT_TRUE(trainer->leave().ok());
  EXPECT_TRUE(trainer->leave().ok());
  EXPECT_EQ(trainer->next().status().code(), Code::kUnavailable);
  EXPECT_EQ(trainer->ticket().status().code(), Code::kUnavailable);
  EXPECT_FALSE(SwarmTrainer::found(*learner.arena, *learner.optimizer, {}).ok());
  auto options = loopback({.wire = "f8"});
  EXPECT_THAT(SwarmTrainer::found(*learner.arena, *learner.optimizer, options).status().message(),
              HasSubstr("f8"));
}

TEST(SwarmTrainer, WaitingHasAnEnd) {
  Learner learner(1);
  auto options = loopback({.start_members = 2});
  options.timeout = std::chrono::milliseconds(300);
  auto trainer = *SwarmTrainer::found(*learner.arena, *learner.optimizer, options);
  const Status late = trainer->next().status();
  EXPECT_EQ(late.code(), Code::kTimeout);
  EXPECT_THAT(late.message(), HasSubstr("SwarmTrainerOptions::timeout"));
  EXPECT_EQ(trainer->next().status().code(), Code::kUnavailable);
  options.stop = [] { return true; };
  trainer = *SwarmTrainer::found(*learner.arena, *learner.optimizer, options);
  EXPECT_FALSE(*trainer->next());
  EXPECT_FALSE(trainer->finished());
  EXPECT_TRUE(trainer->leave().ok());
}

TEST(SwarmTrainer, WhatAnUpdateThrowsComesOutAndEndsThePart) {
  Learner learner(1);
  auto options = loopback({.rounds = 3});
  options.before_update = [](std::span<float> /*gradients*/) { throw std::runtime_error("mine"); };
  auto trainer = *SwarmTrainer::found(*learner.arena, *learner.optimizer, options);
  ASSERT_TRUE(*trainer->next());
  EXPECT_THROW(static_cast<void>(trainer->step()), std::runtime_error);
  EXPECT_EQ(trainer->next().status().code(), Code::kUnavailable);
}

TEST(SwarmTrainer, OthersProgramsAndModelsAreNotLetIn) {
  Learner learner(1);
  auto founder =
      *SwarmTrainer::found(*learner.arena, *learner.optimizer, loopback({.start_members = 2}));
  const std::string ticket = *founder->ticket();
  // The founder answers while it waits for a second member.
  Atomic<bool> stop = false;
  Thread thread([&] {
    while (!stop) static_cast<void>(founder->status());
  });
  auto options = loopback({});
  options.timeout = seconds(20);
  Learner same(2);
  const auto refused = [&](Learner& given, const SwarmTrainerOptions& how) {
    Result<std::unique_ptr<SwarmTrainer>> joined =
        SwarmTrainer::join(ticket, *given.arena, *given.optimizer, how);
    if (!joined.ok()) return joined.status();
    return (*joined)->next().status();
  };
  auto other = options;
  other.program = "another 7";
  EXPECT_THAT(refused(same, other).message(), HasSubstr("got \"another 7\""));
  EXPECT_EQ(
      SwarmTrainer::join("weft2-nonsense", *same.arena, *same.optimizer, options).status().code(),
      Code::kInvalidArgument);
  Sequential wider;
  wider.add<Linear>("in", kInputs, 9);
  Learner another(1);
  another.arena.emplace(wider.layout());
  another.optimizer = *make_optimizer({.name = "adam"}, *another.arena);
  const Status layout = refused(another, options);
  EXPECT_FALSE(layout.ok());
  EXPECT_THAT(layout.message(), HasSubstr("parameters differ"));
  stop = true;
  thread.join();
}

TEST(SwarmTrainer, AnotherOptimizerCannotTakeTheState) {
  Learner adam(1);
  Learner sgd(1, "sgd");
  // The founder gives its state away while it waits for the joiner, which cannot take it.
  Atomic<bool> stop = false;
  auto options = loopback({.start_members = 2});
  options.stop = [&] { return stop.load(); };
  auto founder = *SwarmTrainer::found(*adam.arena, *adam.optimizer, options);
  Result<std::unique_ptr<SwarmTrainer>> joiner =
      SwarmTrainer::join(*founder->ticket(), *sgd.arena, *sgd.optimizer, loopback({}));
  ASSERT_TRUE(joiner.ok()) << joiner.status().to_string();
  Outcome outcome;
  Thread thread([&] { outcome = train(*founder, adam); });
  const Status status = (*joiner)->next().status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.to_string();
  EXPECT_THAT(status.message(), HasSubstr("got that of adam"));
  stop = true;
  joiner->reset();
  thread.join();
}

}  // namespace
}  // namespace weft::swarm_trainer_test
