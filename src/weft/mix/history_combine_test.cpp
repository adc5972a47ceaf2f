// foolsgold and kardam: what they make of members by what these have sent before.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/combine/mix_combine.h"
#include "weft/mix/test_mix_group.h"

namespace weft::history_combine_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// One combination of deltas of the members 0, 1, ... with equal weights that add up to 1.
std::vector<float> combined(MixCombineState& state, const std::vector<std::vector<float>>& deltas) {
  const std::vector<float> reference(deltas.front().size());
  MixInput input{
      .reference = reference,
      .deltas = {deltas.begin(), deltas.end()},
      .from = {},
      .weights = std::vector<double>(deltas.size(), 1.0 / static_cast<double>(deltas.size())),
      .tensors = {},
      .members = static_cast<std::uint32_t>(deltas.size())};
  for (std::uint32_t i = 0; i < input.members; ++i) input.from.push_back(i);
  input.bases.resize(deltas.size());
  std::vector<float> out(reference.size());
  state.combine(input, out);
  return out;
}

TEST(FoolsGold, MembersThatAreAlikeAreOutAndOthersCountAlike) {
  const auto state = MixCombine::parse("foolsgold", 0)->make(1);
  // Two with one aim among three without: the mean of these alone.
  EXPECT_THAT(combined(*state, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {5, 5, 5}, {5, 5, 5}}),
              Pointwise(FloatNear(1e-5F), std::vector<float>(3, 1.0F / 3)));
}

TEST(FoolsGold, OneIsLikeAnyOther) {
  const auto state = MixCombine::parse("foolsgold", 0)->make(1);
  EXPECT_THAT(combined(*state, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}),
              Pointwise(FloatNear(1e-6F), std::vector<float>(3, 1.0F / 3)));
}

// By hand: the cosines are 0.8 for the first two and 0 with the third; each of the first two has
// its largest with the other, so neither is pardoned. 1 - 0.8 = 0.2 against 1: ln(0.2 / 0.8) + 0.5
// is below 0.
TEST(FoolsGold, WeightsAreThoseOfTheFormula) {
  const auto state = MixCombine::parse("foolsgold", 0)->make(1);
  EXPECT_THAT(combined(*state, {{1, 0, 0}, {0.8F, 0.6F, 0}, {0, 0, 1}}),
              Pointwise(FloatNear(1e-5F), std::vector<float>{0, 0, 1}));
  // With a cosine of 0.4: ln(0.6 / 0.4) + 0.5 = 0.905465, against 1.
  const auto other = MixCombine::parse("foolsgold", 0)->make(1);
  const float side = std::sqrt(1 - 0.16F);
  const double trust = std::log(0.6 / 0.4) + 0.5;
  const auto share = static_cast<float>(trust / (2 * trust + 1));
  EXPECT_THAT(
      combined(*other, {{1, 0, 0}, {0.4F, side, 0}, {0, 0, 1}}),
      Pointwise(FloatNear(1e-4F), std::vector<float>{share * 1.4F, share * side, 1 - 2 * share}));
}

TEST(FoolsGold, TheSumOfAllRoundsDecides) {
  const auto state = MixCombine::parse("foolsgold", 0)->make(1);
  // The last two go apart in each round, and together over two.
  combined(*state, {{1, 0, 0}, {0, 1, 0}, {0, 1, 1}, {0, 1, -1}});
  combined(*state, {{1, 0, 0}, {0, 1, 0}, {9, 1, -1}, {9, 1, 1}});
  EXPECT_THAT(combined(*state, {{1, 0, 0}, {0, 1, 0}, {9, 0, 0}, {9, 0, 0}}),
              testing::Not(ElementsAre(testing::Gt(1), testing::_, testing::_)));
}

TEST(FoolsGold, WhatIsNotFiniteNeitherCountsNorStays) {
  const auto state = MixCombine::parse("foolsgold", 0)->make(1);
  for (const float odd : {HUGE_VALF, std::nanf("")}) {
    EXPECT_THAT(combined(*state, {{1, 0, 0}, {0, 1, 0}, {odd, 0, 0}}),
                Pointwise(FloatNear(1e-5F), std::vector<float>{0.5, 0.5, 0}));
  }
  EXPECT_THAT(combined(*state, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}),
              Pointwise(FloatNear(1e-5F), std::vector<float>(3, 1.0F / 3)));
}

// --- Kardam.

// A member that returns one delta at a time from the newest version; x moves by what counts.
class Server {
 public:
  explicit Server(int liars, std::uint32_t members = 4)
      : members_(members), state_(MixCombine::parse("kardam", liars)->make(1)) {}

  // Whether it counted.
  bool take(std::uint32_t from, float delta) {
    const std::vector<float> values = {delta};
    MixInput input{.reference = model_,
                   .deltas = {values},
                   .from = {from},
                   .weights = {1.0},
                   .tensors = {},
                   .members = members_,
                   .version = version_,
                   .bases = {version_}};
    std::vector<float> out(1);
    state_->combine(input, out);
    model_[0] -= out[0];
    ++version_;
    return out[0] == delta;
  }
  // A tenth of the gradient of x^2 / 2, whose growth is 0.1 everywhere.
  float honest() const { return 0.1F * model_[0]; }
  float model() const { return model_[0]; }

 private:
  const std::uint32_t members_;
  std::unique_ptr<MixCombineState> state_;
  std::vector<float> model_ = {1};
  std::uint64_t version_ = 0;
};

TEST(Kardam, ADeltaThatGrowsFasterThanUsualDoesNotCount) {
  Server server(1);
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t member = 0; member < 4; ++member) {
      EXPECT_TRUE(server.take(member, server.honest())) << round << " " << member;
    }
  }
  EXPECT_FALSE(server.take(0, -5));
  EXPECT_TRUE(server.take(1, server.honest()));
  // Its own wide growths, which it has now shown, are not what is usual.
  EXPECT_FALSE(server.take(0, 5));
  EXPECT_FALSE(server.take(0, -5));
  EXPECT_NEAR(server.model(), std::pow(0.9F, 13), 1e-5);
}

TEST(Kardam, NobodyOwnsTooManyOfTheLast) {
  // Nobody owns two of three in a row that count: the third member is waited for.
  Server server(1);
  EXPECT_TRUE(server.take(0, server.honest()));
  EXPECT_FALSE(server.take(0, server.honest()));
  EXPECT_TRUE(server.take(1, server.honest()));
  EXPECT_FALSE(server.take(0, server.honest()));
  EXPECT_FALSE(server.take(1, server.honest()));
  EXPECT_TRUE(server.take(2, server.honest()));
  EXPECT_TRUE(server.take(0, server.honest()));
}

TEST(Kardam, WithoutLiarsAllCount) {
  Server server(0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(server.take(0, server.honest()));
}

TEST(Kardam, AfterAsManyRefusalsAsMembersOneCounts) {
  Server server(1);
  EXPECT_TRUE(server.take(0, server.honest()));
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(server.take(0, server.honest())) << i;
  EXPECT_TRUE(server.take(0, server.honest()));
}

TEST(Kardam, WhatIsNotFiniteNeverCounts) {
  Server server(1);
  for (int i = 0; i < 12; ++i) EXPECT_FALSE(server.take(3, std::nanf("")));
  EXPECT_EQ(server.model(), 1);
}

TEST(Kardam, ItNeedsMoreThanThreeTimesTheLiars) {
  EXPECT_TRUE(MixCombine::parse("kardam", 2)->check(7).ok());
  const Status status = MixCombine::parse("kardam", 2)->check(6);
  EXPECT_EQ(status.message(), "kardam: expected at least 7 members against 2 liars, got 6");
  EXPECT_FALSE(MixMethod::parse({.method = "dpsgd", .combine = "kardam"}).ok());
  EXPECT_FALSE(MixMethod::parse({.method = "modest", .combine = "foolsgold"}).ok());
}

// A whole group beside a liar, whose target is far away: what is refused often counts at last, so
// that the closed form's minimum is found nearly.
TEST(Kardam, AGroupConvergesBesideALiar) {
  TestMixOptions options;
  options.members = 7;
  options.versions = 600;
  options.steps = 1;
  options.noise = 0.05;
  options.seconds = {1, 1.1, 1.2, 1.3, 1.15, 1.25, 1.35};
  options.targets.assign(7, {1, 2, 3});
  options.targets[3] = {50, -50, 50};
  const auto found = [&](const MixMethodTexts& texts) {
    options.texts = texts;
    TestMixGroup group(options);
    EXPECT_FALSE(group.run());
    return *group.newest().model;
  };
  EXPECT_THAT(found({.method = "kardam", .liars = 1}),
              Pointwise(FloatNear(1), std::vector<float>{1, 2, 3}));
  EXPECT_GT(found({.method = "async_sgd"})[0], 5) << "the liar does harm where nothing filters";
}

}  // namespace
}  // namespace weft::history_combine_test
