// FedAMD: anchors, miners and the mean gradient that members are given beside a model.
#include <algorithm>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/test_mix_group.h"

namespace weft::mix_anchors_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

TEST(MixAnchors, AllAreAnchorsAtFirstAndAShareLater) {
  const MixLocal local = *MixLocal::parse("amd:p=0.25", 5);
  for (std::uint32_t member = 0; member < 20; ++member) {
    EXPECT_TRUE(local.is_anchor(0, member));
    EXPECT_FALSE(local.takes_beside(0, member));
  }
  int anchors = 0;
  for (std::uint64_t version = 1; version <= 200; ++version) {
    for (std::uint32_t member = 0; member < 20; ++member) {
      anchors += local.is_anchor(version, member) ? 1 : 0;
      EXPECT_NE(local.is_anchor(version, member), local.takes_beside(version, member));
    }
  }
  // 4,000 draws: 1,000, with a standard deviation of sqrt(4000 * 3 / 16) = 27.
  EXPECT_NEAR(anchors, 1000, 5 * 27);
}

TEST(MixAnchors, AnAnchorReturnsTheMeanGradientOfItsBatches) {
  QuadraticLearner learner({{1, -1, 2}}, 0.1F, 1);
  const MixLocal local = *MixLocal::parse("amd:batches=3", 1);
  const std::vector<float> given = {0.5F, 0, 4};
  std::vector<double> mean(3);
  for (std::uint64_t step = 10; step < 13; ++step) {
    std::vector<float> at = given;
    std::vector<float> gradient(3);
    ASSERT_TRUE(learner.gradient(0, step, at, gradient).ok());
    for (std::size_t i = 0; i < 3; ++i) mean[i] += static_cast<double>(gradient[i]) / 3;
  }
  std::vector<float> model = given;
  const auto loss = local.run({.member = 0, .first_step = 10, .steps = 2}, learner, model);
  ASSERT_TRUE(loss.ok());
  EXPECT_EQ(loss->samples, 3);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(model[i], mean[i], 1e-6);
}

TEST(MixAnchors, OneWithoutStepsMeasuresNothing) {
  QuadraticLearner learner({{1, -1, 2}}, 0.1F, 1);
  std::vector<float> model = {0.5F, 0, 4};
  ASSERT_TRUE(MixLocal::parse("amd", 1)->run({.member = 0, .steps = 0}, learner, model).ok());
  EXPECT_THAT(model, ElementsAre(0, 0, 0));
}

// A version in which `member` is a miner.
std::uint64_t mined_version(const MixLocal& local, std::uint32_t member) {
  std::uint64_t version = 1;
  while (local.is_anchor(version, member)) ++version;
  return version;
}

TEST(MixAnchors, AMinersNoiseIsThatOfDifferencesOnly) {
  // With |x - target|^2 / 2 and noise that is the same at two models of one batch, differences of
  // gradients are exact: g after k steps of rate r is v (1 - r)^k, and the model moves by the sum.
  QuadraticLearner learner({{1, -1, 2}}, 0.1F, 5);
  const MixLocal local = *MixLocal::parse("amd", 1);
  const std::vector<float> given = {0.5F, 0, 4};
  const std::vector<float> beside = {2, -1, 0.5F};
  std::vector<float> model = given;
  const MixLocalWork work = {.member = 0,
                             .first_step = 7,
                             .steps = 4,
                             .version = mined_version(local, 0),
                             .beside = beside};
  ASSERT_TRUE(local.run(work, learner, model).ok());
  const float moved = 0.1F * (1 + 0.9F + 0.81F + 0.729F);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(model[i], given[i] - moved * beside[i], 1e-4) << i;
  }
}

std::unique_ptr<MixCombineState> anchors() { return MixCombine::parse("anchors", 0)->make(1); }

TEST(MixAnchors, TheMeansAreThoseOfMinersAndOfTheLatestGradients) {
  const auto state = anchors();
  EXPECT_EQ(state->beside(), nullptr);
  const std::vector<float> a = {1, 2};
  const std::vector<float> b = {3, 6};
  const std::vector<float> c = {5, 10};
  std::vector<float> out(2);
  MixInput input;
  input.members = 3;
  // Anchors only: nothing moves.
  input.deltas = {a, b};
  input.from = {0, 1};
  input.weights = {0.5, 0.5};
  input.anchors = {true, true};
  state->combine(input, out);
  EXPECT_THAT(out, ElementsAre(0, 0));
  EXPECT_THAT(*state->beside(), ElementsAre(2, 4));
  // The anchor's new gradient takes the place of its old one; the others' mean is the delta.
  input.deltas = {a, c, b};
  input.from = {0, 1, 2};
  input.weights = {1 / 3., 1 / 3., 1 / 3.};
  input.anchors = {false, true, false};
  state->combine(input, out);
  EXPECT_THAT(out, Pointwise(FloatNear(1e-6F), std::vector<float>{2, 4}));
  EXPECT_THAT(*state->beside(), ElementsAre(3, 6));
}

// The algorithm in plain double-precision loops, with losses |x - target|^2 / 2 without noise.
std::vector<double> by_hand(const TestMixOptions& options, const MixMethod& method) {
  const std::size_t size = options.first.size();
  const std::vector<bool> alive(options.members, true);
  std::vector<double> x(size);
  std::vector<std::vector<double>> measured(options.members);
  for (std::uint64_t version = 0; version < options.versions; ++version) {
    std::vector<double> v(size);
    const auto known = std::ranges::count_if(measured, [](const auto& m) { return !m.empty(); });
    for (const auto& each : measured) {
      for (std::size_t i = 0; i < each.size(); ++i) v[i] += each[i] / static_cast<double>(known);
    }
    std::vector<double> delta(size);
    int miners = 0;
    for (const std::uint32_t member : method.plan.trainers(version, alive)) {
      const std::vector<float>& target = options.targets[member];
      if (method.local.is_anchor(version, member)) {
        measured[member].resize(size);
        for (std::size_t i = 0; i < size; ++i) measured[member][i] = x[i] - double{target[i]};
        continue;
      }
      ++miners;
      for (std::size_t i = 0; i < size; ++i) {
        double y = x[i];
        double g = v[i];
        for (std::uint32_t k = 0; k < options.steps; ++k) {
          const double next = y - double{options.rate} * g;
          g += next - y;
          y = next;
        }
        delta[i] += x[i] - y;
      }
    }
    for (std::size_t i = 0; miners > 0 && i < size; ++i) x[i] -= delta[i] / miners;
  }
  return x;
}

TEST(MixAnchors, AGroupDoesWhatTheAlgorithmSays) {
  TestMixOptions options;
  options.texts = {.method = "fedamd", .plan = "star:fraction=0.6"};
  options.members = 5;
  options.versions = 30;
  options.steps = 3;
  options.noise = 0;
  options.latency = 0.01;
  options.seconds = {0.1, 0.4, 0.2};
  options.targets = {{1, 2, 3}, {-1, 0.5, 2}, {0.25, 0, -3}, {4, 1, 1}, {0, 0, 0}};
  TestMixGroup group(options);
  EXPECT_FALSE(group.run());
  const std::vector<double> expected = by_hand(options, group.method());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(group.model()[i], expected[i], 1e-4) << i;
  // It is near the minimum of all, the mean of the targets, although data differ.
  EXPECT_NEAR(expected[0], 0.85, 0.3);
}

TEST(MixAnchors, WhatIsGivenIsWhatTheMemberTakes) {
  const MixMethod method = *MixMethod::parse({.method = "fedamd"});
  const auto vector = [](std::size_t size) {
    return std::make_shared<const std::vector<float>>(size, 1.0F);
  };
  const std::uint64_t version = mined_version(method.local, 1);
  const std::vector<std::pair<MixGiven, bool>> cases = {
      {{version, 2, vector(3), nullptr}, false},   {{version, 2, vector(3), vector(2)}, false},
      {{version, 2, vector(2), vector(3)}, false}, {{version, 2, nullptr, vector(3)}, false},
      {{version, 2, vector(3), vector(3)}, true},  {{0, 2, vector(3), vector(3)}, false},
      {{0, 2, vector(3), nullptr}, true},
  };
  for (const auto& [given, taken] : cases) {
    MixCore core(
        {.self = 1, .members = 2, .versions = 100, .tensors = {{0, 3, true}}, .method = &method},
        vector(3), TimePoint());
    core.given(0, given, TimePoint());
    EXPECT_EQ(core.take_work().has_value(), taken);
  }
}

TEST(MixAnchors, OnlyMinersAreSentTheMean) {
  const MixMethod method = *MixMethod::parse({.method = "fedamd", .plan = "star"});
  const auto first = std::make_shared<const std::vector<float>>(3, 1.0F);
  constexpr std::uint32_t kMembers = 12;
  MixCore server({.self = 0,
                  .members = kMembers,
                  .versions = 100,
                  .tensors = {{0, 3, true}},
                  .method = &method},
                 first, TimePoint());
  for (std::uint64_t version = 0; version < 3; ++version) {
    server.settle(TimePoint());
    const std::vector<MixSend> sends = server.take_sends();
    ASSERT_EQ(sends.size(), kMembers - 1) << version;
    for (const MixSend& send : sends) {
      const auto& given = std::get<MixGiven>(send.what);
      EXPECT_EQ(given.beside == nullptr, method.local.is_anchor(version, send.to));
      server.returned(send.to, {.base = version, .steps = 1, .values = first}, TimePoint());
    }
    server.worked(server.take_work()->id, first, {}, TimePoint());
  }
}

}  // namespace
}  // namespace weft::mix_anchors_test
