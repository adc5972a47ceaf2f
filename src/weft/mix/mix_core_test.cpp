// The driver: methods that are equal give equal bits, and the times and contents of combinations
// are those that can be worked out by hand.
#include "weft/mix/mix_core.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/test_mix_group.h"

namespace weft::mix_core_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kInf = std::numeric_limits<float>::infinity();

TestMixOptions equal_members(MixMethodTexts texts) {
  TestMixOptions options;
  options.texts = std::move(texts);
  options.members = 7;
  options.targets = {{1, 2, 3}, {-1, 0.5, 2}, {0.25, 0, -3}, {4, 1, 1}, {0, 0, 0}};
  return options;
}

std::vector<float> trained(const TestMixOptions& options) {
  TestMixGroup group(options);
  EXPECT_FALSE(group.run());
  EXPECT_EQ(group.newest().version, options.versions);
  return *group.newest().model;
}

TEST(MixCore, EqualMethodsGiveEqualBits) {
  const std::vector<float> fedavg = trained(equal_members({.method = "fedavg"}));
  // Seven members of five steps of 0.1 s each.
  const std::vector<MixMethodTexts> equal = {
      {.method = "fedbuff", .trigger = "buffer:size=7"},
      {.method = "fedfix", .trigger = "period:seconds=0.5"},
      {.method = "afa_cd", .trigger = "buffer:size=7:staleness=0:by_steps=1"},
      {.method = "afa_cs", .trigger = "buffer:size=7:staleness=0:by_steps=1"},
      {.method = "local_sgd"},
      {.method = "dpsgd", .plan = "complete"},
      {.method = "diloco", .outer = "nesterov:rate=1:momentum=0"},
      {.method = "fedprox", .local = "prox:mu=0"},
      {.method = "fedavgm", .outer = "momentum:momentum=0"},
  };
  for (const MixMethodTexts& texts : equal) {
    EXPECT_EQ(trained(equal_members(texts)), fedavg) << texts.method;
  }
  // The sum is of models instead of deltas.
  const std::vector<float> modest = trained(equal_members(
      {.method = "modest", .plan = "sampled:size=7", .trigger = "round:timeout=1000"}));
  EXPECT_THAT(modest, Pointwise(FloatNear(1e-5F), fedavg));
}

TEST(MixCore, TheMeanIsThatOfTheClosedForm) {
  // Without noise each local step moves x to t + (x - t)(1 - r); K steps leave (1 - r)^K.
  TestMixOptions options = equal_members({.method = "fedavg"});
  options.noise = 0;
  options.versions = 8;
  std::vector<float> mean(3);
  for (std::uint32_t i = 0; i < 7; ++i) {
    const std::vector<float>& target = options.targets[std::min(i, 4U)];
    for (std::size_t j = 0; j < 3; ++j) mean[j] += target[j] / 7;
  }
  const float left = std::pow(0.9F, 5.0F * 8.0F);
  const std::vector<float> model = trained(options);
  for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(model[j], mean[j] * (1 - left), 2e-6);
}

TEST(MixCore, BackupWorkersAreNotWaitedFor) {
  TestMixOptions options = equal_members({.method = "fedavg", .trigger = "round:part=0.86"});
  options.seconds = {0.1, 0.1, 10, 0.1};
  options.versions = 3;
  TestMixGroup group(options);
  group.run();
  EXPECT_THAT(group.log(), ElementsAre("0.5: 1 of 6", "1: 2 of 6", "1.5: 3 of 6"));
}

TEST(MixCore, ABufferIsFilledByWhoeverComes) {
  // Member 0 returns at 1, 2, 3, ..., member 1 at 3, 6, ...: the buffer of two is full at 2, 3 (as
  // both come at 3, the first of them fills it), 4, 5.
  TestMixOptions options;
  options.texts = {.method = "fedbuff", .trigger = "buffer:size=2"};
  options.members = 2;
  options.versions = 4;
  options.steps = 1;
  options.seconds = {1, 3};
  TestMixGroup group(options);
  group.run();
  EXPECT_THAT(group.log(), ElementsAre("2: 1 of 2", "3: 2 of 2", "5: 3 of 2", "6: 4 of 2"));
}

// The model where members with targets 0 and 1 pull evenly is 1/2; one that comes thrice as often
// must not pull it to its side.
double balance_of(const MixMethodTexts& texts) {
  TestMixOptions options;
  options.texts = texts;
  options.members = 2;
  options.versions = 3000;
  options.steps = 1;
  options.seconds = {1, 3};
  options.noise = 0;
  options.rate = 0.01F;
  options.targets = {{0, 0, 0}, {1, 1, 1}};
  return static_cast<double>(trained(options)[0]);
}

TEST(MixCore, FedFixGivesSlowMembersTheirShare) {
  EXPECT_NEAR(balance_of({.method = "fedfix", .trigger = "period:seconds=1"}), 0.5, 0.01);
  const double biased = balance_of({.method = "fedfix", .trigger = "period:seconds=1:correct=0"});
  // In three periods 1 + 1 + 1/2 of one, 1/2 of the other.
  EXPECT_NEAR(biased, 1.0 / 6, 0.01);
}

TEST(MixCore, TheMemoryOfEveryMemberGivesSlowOnesTheirShare) {
  const std::string one = "buffer:size=1:staleness=0:by_steps=1";
  EXPECT_NEAR(balance_of({.method = "afa_cs", .trigger = one}), 0.5, 0.02);
  EXPECT_NEAR(balance_of({.method = "afa_cd", .trigger = one}), 0.25, 0.02);
}

TEST(MixCore, NobodyIsFarAheadOfTheSlowest) {
  TestMixOptions options;
  options.texts = {.method = "stale_synchronous", .trigger = "buffer:size=1:staleness=0:lead=2"};
  options.members = 3;
  options.versions = 40;
  options.steps = 1;
  options.seconds = {1, 1, 20};
  TestMixGroup group(options);
  group.run(19.5);
  // Those that have three more than none wait.
  EXPECT_EQ(group.steps_of(0), 3U);
  EXPECT_EQ(group.steps_of(1), 3U);
  group.run(39.5);
  EXPECT_EQ(group.steps_of(0), 4U);
}

// Every round's deltas are those of models that were worked on from before the round before it.
TEST(MixCore, OverlappedRoundsFollowTheRecurrence) {
  TestMixOptions options = equal_members({.method = "overlapped_diloco"});
  options.noise = 0;
  options.latency = 0.4;
  options.seconds = {0.1, 0.07, 0.02};
  TestMixGroup group(options);
  group.run();
  double mean = 0;
  for (std::uint32_t i = 0; i < 7; ++i)
    mean += static_cast<double>(options.targets[std::min(i, 4U)][0]) / 7;
  const double moved = 0.7 * (1 - std::pow(0.9, 5));
  std::vector<double> x = {0};
  for (std::size_t round = 0; round < options.versions; ++round) {
    x.push_back(x[round] - moved * (x[round == 0 ? 0 : round - 1] - mean));
  }
  for (std::uint32_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(group.model(i)[0], x.back(), 1e-5);
    EXPECT_EQ(group.model(i), group.model(0));
  }
  // Twenty works of half a second; only the last exchange takes time.
  EXPECT_NEAR(group.seconds(), 20 * 0.5 + 0.4, 1e-6);
}

TEST(MixCore, WithoutADelayExchangesTakeTheirTime) {
  TestMixOptions options = equal_members({.method = "local_sgd"});
  options.latency = 0.4;
  TestMixGroup group(options);
  group.run();
  EXPECT_NEAR(group.seconds(), 20 * (0.5 + 0.4), 1e-6);
}

TEST(MixCore, AnOverlappedMemberThatIsLostIsNotWaitedFor) {
  TestMixOptions options = equal_members({.method = "overlapped_diloco"});
  options.latency = 0.2;
  TestMixGroup group(options);
  group.kill_at(2, 3.1);
  group.run();
  for (const std::uint32_t member : {0U, 1U, 3U, 6U}) {
    EXPECT_EQ(group.core(member).version(), options.versions);
  }
}

TEST(MixCore, PostLocalStepsComeAfterSingleOnes) {
  for (const char* const plan : {"complete", "star", "sampled:size=7"}) {
    TestMixOptions options = equal_members(
        {.method = "post_local_sgd", .plan = plan, .trigger = "round:single_until=8:timeout=1000"});
    TestMixGroup group(options);
    group.run();
    EXPECT_EQ(group.newest().version, 20U);
    for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(group.steps_of(i), 8U + 12 * 5) << plan;
  }
}

TEST(MixCore, MoreMixesBringModelsCloser) {
  const auto spread = [](std::uint32_t mixes) {
    TestMixOptions options = equal_members({.method = "dpsgd", .plan = "ring", .mixes = mixes});
    options.versions = 20 * mixes;
    TestMixGroup group(options);
    group.run();
    double largest = 0;
    for (std::uint32_t i = 1; i < options.members; ++i) {
      largest = std::max<double>(largest, std::abs(group.model(i)[0] - group.model(0)[0]));
    }
    EXPECT_EQ(group.steps_of(0), 100U);
    return largest;
  };
  EXPECT_LT(spread(4), 0.5 * spread(1));
}

TEST(MixCore, PairsAverageAndNobodyWaits) {
  // One coordinate in which members pull to 6, 0, 0, 0, 1 and -1, as often as they step.
  TestMixOptions options;
  options.texts = {.method = "ad_psgd"};
  options.members = 6;
  options.versions = 4000;
  options.steps = 1;
  options.seconds = {0.1, 0.13, 0.17, 0.31, 0.07, 0.11};
  options.latency = 0.002;
  options.noise = 0;
  options.rate = 0.02F;
  options.first = {0};
  options.targets = {{6}, {0}, {0}, {0}, {1}, {-1}};
  TestMixGroup group(options);
  group.run(200);
  double mean = 0;
  for (std::uint32_t i = 0; i < 6; ++i) mean += static_cast<double>(group.model(i)[0]) / 6;
  // Where all pulls together are zero: sum (x - target) / seconds = 0.
  const double rates = 1 / 0.1 + 1 / 0.13 + 1 / 0.17 + 1 / 0.31 + 1 / 0.07 + 1 / 0.11;
  EXPECT_NEAR(mean, (6 / 0.1 + 1 / 0.07 - 1 / 0.11) / rates, 0.15);
  for (std::uint32_t i = 0; i < 6; ++i) EXPECT_NEAR(group.model(i)[0], mean, 0.5);
  // The slow one has not held up anybody.
  EXPECT_GT(group.core(4).version(), 4 * group.core(3).version());
}

TEST(MixCore, TwoThatAskEachOtherKeepTheirSum) {
  const MixMethod method = *MixMethod::parse({.method = "ad_psgd"});
  const auto vector = [](float value) {
    return std::make_shared<const std::vector<float>>(std::vector<float>{value});
  };
  std::vector<std::unique_ptr<MixCore>> cores;
  for (std::uint32_t i = 0; i < 2; ++i) {
    cores.push_back(std::make_unique<MixCore>(
        MixCoreOptions{
            .self = i, .members = 2, .versions = 10, .tensors = {{0, 1, true}}, .method = &method},
        vector(0), TimePoint()));
    // Work that ends at 8 and at -2.
    cores[i]->worked(cores[i]->take_work()->id, vector(i == 0 ? 8.0F : -2.0F), {}, TimePoint());
  }
  // Both have asked before either has received anything.
  const std::vector<MixSend> of0 = cores[0]->take_sends();
  const std::vector<MixSend> of1 = cores[1]->take_sends();
  ASSERT_EQ(of0.size() + of1.size(), 2U);
  cores[1]->returned(0, std::get<MixReturned>(of0.front().what), TimePoint());
  cores[0]->returned(1, std::get<MixReturned>(of1.front().what), TimePoint());
  EXPECT_EQ(cores[0]->model()->front() + cores[1]->model()->front(), 6.0F);
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (const MixSend& answer : cores[i]->take_sends()) {
      cores[1 - i]->given(i, std::get<MixGiven>(answer.what), TimePoint());
    }
  }
  EXPECT_EQ(cores[0]->model()->front() + cores[1]->model()->front(), 6.0F);
}

TEST(MixCore, TwoThatAverageMeetInTheMiddle) {
  const MixMethod method = *MixMethod::parse({.method = "ad_psgd"});
  const auto at8 = std::make_shared<const std::vector<float>>(1, 8.0F);
  const auto at2 = std::make_shared<const std::vector<float>>(1, 2.0F);
  MixCore asked(
      {.self = 1, .members = 2, .versions = 9, .tensors = {{0, 1, true}}, .method = &method}, at2,
      TimePoint());
  asked.returned(0, {.base = 1, .values = at8}, TimePoint());
  EXPECT_EQ(asked.model()->front(), 5.0F);
  EXPECT_EQ(std::get<MixGiven>(asked.take_sends().front().what).model->front(), 2.0F);
}

// Three in a ring have a third each. The share of one that is gone goes to the own model.
TEST(MixCore, TheShareOfALostNeighbourIsTheOwnModels) {
  const MixMethod method = *MixMethod::parse({.method = "dpsgd"});
  const auto zero = std::make_shared<const std::vector<float>>(1, 0.0F);
  const auto three = std::make_shared<const std::vector<float>>(1, 3.0F);
  MixCore core(
      {.self = 0, .members = 3, .versions = 9, .tensors = {{0, 1, true}}, .method = &method}, zero,
      TimePoint());
  core.lost(2, TimePoint());
  core.worked(core.take_work()->id, three, {}, TimePoint());
  core.returned(1, {.base = 0, .values = zero}, TimePoint());
  core.settle(TimePoint());
  EXPECT_EQ(core.version(), 1U);
  EXPECT_NEAR(core.model()->front(), 2.0F, 1e-6);
}

TEST(MixCore, SampledVersionsGoOnWithoutMostMembers) {
  TestMixOptions options;
  options.texts = {
      .method = "modest", .plan = "sampled:size=4", .trigger = "round:part=0.5:timeout=5"};
  options.members = 20;
  options.versions = 60;
  options.latency = 0.01;
  TestMixGroup group(options);
  for (std::uint32_t i = 0; i < 16; ++i) group.kill_at(i, 3.3 + 0.2 * i);
  group.run(2000);
  EXPECT_GE(group.newest().version, 20U);
}

TEST(MixCore, WhatWasSentToALostCombinerIsSentToTheNext) {
  TestMixOptions options;
  options.texts = {.method = "modest", .plan = "sampled:size=3", .trigger = "round:timeout=1000"};
  options.members = 6;
  options.versions = 4;
  options.latency = 0.01;
  const MixPlan plan = *MixPlan::parse("sampled:size=3", 1);
  const std::vector<bool> alive(6, true);
  const std::uint32_t combiner = plan.combiner(0, alive);
  ASSERT_FALSE(std::ranges::binary_search(plan.trainers(0, alive), combiner)) << "another seed";
  TestMixGroup group(options);
  // It has the first results, and dies before the last.
  group.kill_at(combiner, 0.505);
  group.run();
  EXPECT_EQ(group.newest().version, 4U);
  EXPECT_LT(std::stod(group.log().back()), 10) << "nobody waits for the timeout";
}

// The member that combines what was trained from the first model, and who trains that.
class SampledCombiner {
 public:
  SampledCombiner() {
    combiner_ = plan_.combiner(0, everybody_);
    trainers_ = plan_.trainers(0, everybody_);
    EXPECT_FALSE(std::ranges::binary_search(trainers_, combiner_)) << "another seed";
    core_ = std::make_unique<MixCore>(MixCoreOptions{.self = combiner_,
                                                     .members = kMembers,
                                                     .versions = 9,
                                                     .tensors = {{0, 1, true}},
                                                     .method = &method_},
                                      values(), TimePoint());
  }
  MixCore& core() { return *core_; }
  const std::vector<std::uint32_t>& trainers() const { return trainers_; }
  // Those beyond the trainers that another member may have drawn, or else those that it cannot.
  std::vector<std::uint32_t> others(bool may_train) const {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      const bool drawn = std::ranges::binary_search(trainers_, i);
      const bool may = plan_.may_train(0, i, everybody_);
      if (i != combiner_ && !drawn && may == may_train) found.push_back(i);
    }
    return found;
  }
  // Work of a second comes from `from`.
  void take(std::uint32_t from, TimePoint now) {
    core_->returned(from, {.base = 0, .steps = 1, .seconds = 1, .loss = {}, .values = values()},
                    now);
    core_->settle(now);
  }

 private:
  static constexpr std::uint32_t kMembers = 12;
  static MixVector values() {
    return std::make_shared<const std::vector<float>>(std::vector<float>{1});
  }

  const MixMethod method_ = *MixMethod::parse(
      {.method = "modest", .plan = "sampled:size=2", .trigger = "round:timeout=1000", .seed = 1});
  const MixPlan plan_ = method_.plan;
  const std::vector<bool> everybody_ = std::vector<bool>(kMembers, true);
  std::uint32_t combiner_ = 0;
  std::vector<std::uint32_t> trainers_;
  std::unique_ptr<MixCore> core_;
};

TEST(MixCore, WhoWasDrawnByAnotherViewCountsToo) {
  SampledCombiner group;
  EXPECT_TRUE(group.core().awaited().empty());
  group.take(group.trainers()[0], TimePoint());
  EXPECT_THAT(group.core().awaited(), testing::ElementsAreArray(group.trainers()));
  group.take(group.others(false).front(), TimePoint());
  EXPECT_EQ(group.core().version(), 0U);
  group.take(group.others(true).front(), TimePoint());
  EXPECT_EQ(group.core().version(), 1U);
  EXPECT_TRUE(group.core().awaited().empty());
}

TEST(MixCore, WhatCannotBeIsIgnored) {
  const TestMixOptions options = equal_members({.method = "fedavg"});
  TestMixGroup group(options);
  const MixMethod method = *MixMethod::parse(options.texts);
  const auto first = std::make_shared<const std::vector<float>>(options.first);
  MixCore core({.members = 2, .versions = 5, .tensors = {{0, 3, true}}, .method = &method}, first,
               TimePoint());
  core.settle(TimePoint());
  const auto shorter = std::make_shared<const std::vector<float>>(2);
  const auto values = std::make_shared<const std::vector<float>>(3, kInf);
  core.returned(9, {.base = 0, .values = values}, TimePoint());      // nobody
  core.returned(1, {.base = 1, .values = values}, TimePoint());      // of the future
  core.returned(1, {.base = ~0ULL, .values = values}, TimePoint());  // of no version
  core.returned(1, {.base = 0, .values = shorter}, TimePoint());     // of another model
  core.returned(1, {.base = 0, .values = nullptr}, TimePoint());
  core.given(1, {.version = 99, .steps = 1, .model = values}, TimePoint());
  core.worked(77, first, {}, TimePoint());
  core.lost(8, TimePoint());
  core.settle(TimePoint());
  EXPECT_TRUE(core.take_combined().empty());
  EXPECT_EQ(core.version(), 0U);
  // The same twice counts once.
  const auto zero = std::make_shared<const std::vector<float>>(3);
  core.returned(1, {.base = 0, .steps = 1, .values = zero}, TimePoint());
  core.returned(1, {.base = 0, .steps = 1, .values = zero}, TimePoint());
  core.settle(TimePoint());
  EXPECT_EQ(core.version(), 0U);
}

TEST(MixCore, AMemberThatIsBackGetsWorkFromTheNextVersionOn) {
  const MixMethod method = *MixMethod::parse({.method = "fedavg"});
  const auto vector = [](float value) {
    return std::make_shared<const std::vector<float>>(std::vector<float>{value});
  };
  MixCore server(
      {.self = 0, .members = 2, .versions = 10, .tensors = {{0, 1, true}}, .method = &method},
      vector(0), TimePoint());
  const auto works_alone = [&] {
    server.worked(server.take_work()->id, vector(1), {}, TimePoint());
    server.settle(TimePoint());
  };
  server.settle(TimePoint());
  ASSERT_EQ(server.take_sends().size(), 1U);
  server.lost(1, TimePoint());
  works_alone();
  EXPECT_EQ(server.version(), 1U);
  EXPECT_TRUE(server.take_sends().empty());
  server.came(1);
  works_alone();
  EXPECT_EQ(server.version(), 2U);
  const std::vector<MixSend> sends = server.take_sends();
  ASSERT_EQ(sends.size(), 1U);
  EXPECT_EQ(sends.front().to, 1U);
  EXPECT_EQ(std::get<MixGiven>(sends.front().what).version, 2U);
}

}  // namespace
}  // namespace weft::mix_core_test
