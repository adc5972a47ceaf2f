// bristle: scores, weights and rows against the formulas in NumPy, who is looked at, liars; and
// what members send who exchange output layers alone.
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/combine/mix_combine.h"
#include "weft/mix/combine/test_mix_judge.h"
#include "weft/mix/mix_core.h"
#include "weft/mix/mix_method.h"

namespace weft::mix_bristle_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(ClassF1, IsTheHarmonicMeanOfPrecisionAndRecall) {
  const std::vector<std::size_t> truths = {0, 0, 0, 0, 1, 1, 2, 2};
  const std::vector<std::size_t> guesses = {0, 0, 0, 1, 1, 0, 1, 1};
  const std::vector<std::size_t> classes = {0, 1, 2, 5};
  // Class 0: precision 3/4, recall 3/4. Class 1: 1/4 and 1/2, 2 / (4 + 2). Class 2: never named.
  EXPECT_THAT(class_f1(truths, guesses, classes),
              Pointwise(DoubleNear(1e-12), std::vector<double>{0.75, 1.0 / 3, 0, 0}));
}

// Two elements of the layers below, a weight [3, 2] and a bias [3].
constexpr std::size_t kBelow = 2;
const MixUnits kOutputs = {3, {{kBelow, 1, 2}, {kBelow + 6, 1, 1}}};

// What member 0 makes of these models, of which the first is its own.
std::vector<float> bristled(const std::string& text, const std::vector<std::vector<float>>& models,
                            MixJudge& judge, const MixUnits& outputs = kOutputs) {
  const std::vector<float> reference(models.front().size(), 0.5F);
  std::vector<std::vector<float>> deltas = models;
  for (auto& delta : deltas) {
    for (float& value : delta) value = 0.5F - value;
  }
  MixInput input{.reference = reference,
                 .deltas = {deltas.begin(), deltas.end()},
                 .from = {},
                 .weights = std::vector<double>(models.size(), 1.0),
                 .tensors = {},
                 .members = static_cast<std::uint32_t>(models.size()),
                 .version = 3,
                 .self = 0,
                 .judge = &judge,
                 .outputs = &outputs};
  for (std::uint32_t i = 0; i < input.members; ++i) input.from.push_back(i);
  std::vector<float> out(reference.size());
  MixCombine::parse(text, 0)->make(1)->combine(input, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = reference[i] - out[i];
  return out;
}

// The scores of a model by the first element of its output layer.
ScriptedJudge judge_of(const std::vector<std::pair<float, std::vector<double>>>& scores) {
  return ScriptedJudge({0, 2}, [scores](std::span<const float> model) {
    for (const auto& [first, each] : scores) {
      if (std::abs(model[kBelow] - first) < 1e-3F) return each;
    }
    ADD_FAILURE() << "no such model: " << model[kBelow];
    return std::vector<double>(2);
  });
}

TEST(Bristle, RowsAreThoseOfTheFormulas) {
  const std::vector<std::vector<float>> models = {{9, 9, 1, 2, 3, 4, 5, 6, 0.5F, -0.5F, 1},
                                                  {9, 9, 11, 12, 13, 14, 15, 16, 1.5F, 0.5F, 2},
                                                  {9, 9, 2, 4, 6, 8, 10, 12, -0.5F, -1.5F, 0},
                                                  {9, 9, -6, -5, -4, -3, -2, -1, 1.5F, -1.5F, 3}};
  ScriptedJudge judge =
      judge_of({{1, {0.8, 0.5}}, {11, {0.9, 0.45}}, {2, {0.6, 0.75}}, {-6, {0.1, 0.2}}});
  // By NumPy: the first neighbour's weights are 0.46125, 0.46075 and 0.44950, the second one's
  // 0.18482, 0.55272 and 0.96871, and the third has none: its scores are -11,389 and -140.
  const std::vector<float> expected = {9,           9,           3.91441102F, 5.02668911F,
                                       6.11188095F, 7.3863914F,  8.86176664F, 10.26235487F,
                                       0.66793521F, -0.5456755F, 0.78529432F};
  EXPECT_THAT(bristled("bristle", models, judge), Pointwise(FloatNear(1e-5F), expected));
  EXPECT_EQ(judge.asked, 4);
}

TEST(Bristle, WithOneBestClassAPeerThatKnowsOneIsCertain) {
  // 0.5 - 0.5 = 0 over both classes, 1 over the better one. Its score for class 0 is
  // (10 * 0.2)^3.8 = 13.93, the weight 10 sigmoid(0.1393) - 4 = 1.34768.
  const std::vector<std::vector<float>> models = {{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                                  {0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0}};
  ScriptedJudge judge = judge_of({{1, {0.8, 0.5}}, {2, {1, 0}}});
  EXPECT_EQ(bristled("bristle", models, judge)[kBelow], 1);
  const double weight = 10 / (1 + std::exp(-std::pow(2.0, 3.8) / 100)) - 4;
  EXPECT_NEAR(weight, 1.34768, 1e-4);
  EXPECT_NEAR(bristled("bristle:best=1", models, judge)[kBelow], (1 + 2 * weight) / (1 + weight),
              1e-5);
}

TEST(Bristle, EachThirdGivesItsShareOfThoseWhoAreLookedAt) {
  // 60 neighbours at the distances 1 to 60: 4 of the nearest third, 5 of the middle, 2 of the rest.
  std::vector<std::vector<float>> models(61, std::vector<float>(11));
  for (std::size_t i = 0; i < models.size(); ++i) models[i][kBelow] = static_cast<float>(i);
  std::vector<int> thirds(3);
  std::set<float> looked_at;
  ScriptedJudge judge({0}, [&](std::span<const float> model) {
    const float first = model[kBelow];
    if (first > 0.5F) ++thirds[static_cast<std::size_t>((first - 0.5F) / 20)];
    looked_at.insert(std::round(first));
    return std::vector<double>{0.5};
  });
  bristled("bristle", models, judge);
  EXPECT_THAT(thirds, ElementsAre(4, 5, 2));
  EXPECT_EQ(looked_at.size(), 12U) << "each at most once, and the own model";
  thirds.assign(3, 0);
  bristled("bristle:explore=0", models, judge);
  EXPECT_THAT(thirds, ElementsAre(10, 0, 0));
}

TEST(Bristle, LiarsDoNotCountHoweverManyTheyAre) {
  LinearJudge judge(kBelow);
  const std::vector<float> own = judge.able(1);
  std::vector<float> liar = own;
  for (float& value : liar) value = -4 * value;
  std::vector<float> odd = own;
  odd.back() = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> huge = own;
  huge[kBelow] = std::numeric_limits<float>::infinity();
  const std::vector<float> helper = judge.able(3);
  const std::vector<float> made =
      bristled("bristle", {own, liar, odd, liar, helper, huge, liar}, judge, judge.outputs());
  // Both do everything right: certainty 1, weight 1.
  EXPECT_THAT(made, Pointwise(FloatNear(1e-5F), judge.able(2)));
}

TEST(Bristle, OneWithoutNeighboursKeepsItsModel) {
  LinearJudge judge(kBelow);
  EXPECT_EQ(bristled("bristle", {judge.able(1)}, judge, judge.outputs()), judge.able(1));
}

// --- Exchanges of output layers.

struct Member {
  MixMethod method;
  LinearJudge judge{kBelow};
  std::unique_ptr<MixCore> core;

  explicit Member(const MixMethodTexts& texts, std::uint32_t members = 3)
      : method(*MixMethod::parse(texts)) {
    const auto first =
        std::make_shared<const std::vector<float>>(kBelow + LinearJudge::kOutputs, 0.0F);
    core = std::make_unique<MixCore>(MixCoreOptions{.self = 0,
                                                    .members = members,
                                                    .versions = 2,
                                                    .steps = 1,
                                                    .tensors = {{0, first->size(), true}},
                                                    .method = &method,
                                                    .judge = &judge,
                                                    .outputs = judge.outputs()},
                                     first, TimePoint());
  }
  MixVector works(std::vector<float> model) {
    auto made = std::make_shared<const std::vector<float>>(std::move(model));
    core->worked(core->take_work()->id, made, MixLoss{1, 0, 1, 1}, TimePoint());
    return made;
  }
};

TEST(MixPart, OutputsAloneAreSentAndTheOtherLayersStay) {
  Member member({.method = "dpsgd", .plan = "complete", .part = "outputs"});
  std::vector<float> own = member.judge.able(3);
  own[0] = 7;
  own[1] = 8;
  member.works(own);
  const std::vector<MixSend> sends = member.core->take_sends();
  ASSERT_EQ(sends.size(), 2U);
  const auto& sent = std::get<MixReturned>(sends.front().what);
  EXPECT_EQ(*sent.values, std::vector<float>(own.begin() + kBelow, own.end()));
  EXPECT_EQ(member.core->returned_max(), LinearJudge::kOutputs);
  const auto receive = [&](std::uint32_t from, std::size_t size, float value) {
    auto values = std::make_shared<const std::vector<float>>(size, value);
    member.core->returned(from, {0, 1, 1, {1, 0, 1, 1}, values}, TimePoint());
  };
  // A whole model is not what members send.
  receive(1, own.size(), 100);
  receive(1, LinearJudge::kOutputs, 3);
  receive(2, LinearJudge::kOutputs, -3);
  member.core->settle(TimePoint());
  ASSERT_EQ(member.core->version(), 1U);
  std::vector<float> expected = own;
  for (std::size_t i = kBelow; i < own.size(); ++i) expected[i] /= 3;
  EXPECT_THAT(*member.core->model(), Pointwise(FloatNear(1e-6F), expected));
}

TEST(MixPart, BristleTakesWhatANeighbourDoesBetter) {
  Member member({.method = "bristle", .plan = "complete"});
  std::vector<float> own(kBelow + LinearJudge::kOutputs);
  own[0] = 7;
  member.works(own);
  const std::vector<float> able = member.judge.able(2);
  const auto helps = std::make_shared<const std::vector<float>>(able.begin() + kBelow, able.end());
  const auto lies = std::make_shared<const std::vector<float>>(LinearJudge::kOutputs, 1e30F);
  member.core->returned(1, {0, 1, 1, {1, 0, 1, 1}, helps}, TimePoint());
  member.core->returned(2, {0, 1, 1, {1, 0, 1, 1}, lies}, TimePoint());
  member.core->settle(TimePoint());
  EXPECT_EQ((*member.core->model())[0], 7);
  EXPECT_THAT(member.judge.scores(*member.core->model()), ElementsAre(1, 1, 1));
}

TEST(MixPart, WhatDoesNotGoTogetherIsRefused) {
  const std::vector<std::pair<MixMethodTexts, std::string>> wrong = {
      {{.method = "dpsgd", .part = "outptus"}, "mix.part"},
      {{.method = "fedavg", .part = "outputs"}, "only neighbours"},
      {{.method = "ad_psgd", .part = "outputs"}, "only neighbours"},
      {{.method = "dimat", .part = "outputs"}, "compare no whole ones"},
      {{.method = "sybilwall", .part = "outputs"}, "compare no whole ones"},
      {{.method = "spsa_byte", .part = "outputs"}, "only neighbours"},
      {{.method = "bristle", .part = "all"}, "which judges output layers"},
      {{.method = "bristle", .plan = "star"}, "only neighbours"},
      {{.method = "sybilwall", .plan = "star"}, "no neighbours tell"}};
  for (const auto& [texts, expected] : wrong) {
    const auto method = MixMethod::parse(texts);
    ASSERT_FALSE(method.ok()) << expected;
    EXPECT_EQ(method.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(method.status().message(), HasSubstr(expected));
  }
}

}  // namespace
}  // namespace weft::mix_bristle_test
