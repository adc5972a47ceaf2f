// What holds for every plan, trigger, combination, outer step and local update, and the closed
// forms of each.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/base/testing/test_plugin_table.h"
#include "weft/gossip/topology/topology.h"
#include "weft/gossip/topology/topology_def.h"
#include "weft/mix/combine/mix_combine_def.h"
#include "weft/mix/combine/test_mix_judge.h"
#include "weft/mix/combine/test_mix_probe.h"
#include "weft/mix/local/mix_local_def.h"
#include "weft/mix/mix_method.h"
#include "weft/mix/outer/mix_outer_def.h"
#include "weft/mix/plan/mix_plan_def.h"
#include "weft/mix/test_mix_group.h"
#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft::mix_families_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Optional;
using testing::Pointwise;

TEST(MixFamilies, NamesAndOptionsAreWords) {
  EXPECT_EQ(plugin_table_fault(mix_plans()), "");
  EXPECT_EQ(plugin_table_fault(mix_triggers()), "");
  EXPECT_EQ(plugin_table_fault(mix_combines()), "");
  EXPECT_EQ(plugin_table_fault(mix_outers()), "");
  EXPECT_EQ(plugin_table_fault(mix_locals()), "");
}

TEST(MixFamilies, EveryMethodOfTheTableIsOne) {
  std::string_view last;
  for (const MixMethodDef& def : mix_methods()) {
    EXPECT_LT(last, def.name);
    last = def.name;
    EXPECT_FALSE(def.summary.empty());
    const auto method = MixMethod::parse({.method = std::string(def.name)});
    EXPECT_TRUE(method.ok()) << method.status().message();
  }
}

TEST(MixFamilies, WhatDoesNotGoTogetherIsRefused) {
  const std::vector<std::pair<MixMethodTexts, std::string>> wrong = {
      {{.method = "fedbuf"}, "fedbuff"},
      {{.method = "fedavg", .plan = "rong"}, "ring"},
      {{.method = "fedavg", .plan = "star:fraction=2"}, "mix.plan"},
      {{.method = "fedavg", .trigger = "bufer"}, "buffer"},
      {{.method = "fedavg", .combine = "meen"}, "mix.combine"},
      {{.method = "fedavg", .outer = "plain:speed=1"}, "mix.outer"},
      {{.method = "fedavg", .local = "sgd:rho=1"}, "mix.local"},
      {{.method = "dpsgd", .trigger = "buffer"}, "with one version"},
      {{.method = "modest", .outer = "nesterov"}, "nobody keeps"},
      {{.method = "modest", .combine = "memory"}, "nobody keeps"},
      {{.method = "modest", .trigger = "round"}, "a timeout, such as"},
      {{.method = "fedavg", .mixes = 2}, "mix.mixes"},
      {{.method = "fedavg", .trigger = "round:delay=1"}, "neighbours alone work ahead"},
      {{.method = "dfedsam_mgs", .trigger = "round:delay=1"}, "several mixes"},
      {{.method = "fedavg", .local = "gradient"}, "takes models"},
      {{.method = "dadao", .local = "sgd"}, "makes the step itself"},
      {{.method = "fedavg", .local = "spsa"}, "all hold one model"},
      {{.method = "spsa_byte", .trigger = "round:part=0.5"}, "once all have come"},
      {{.method = "spsa_byte", .combine = "variance"}, "return no models"},
      {{.method = "spsa_byte", .mixes = 2}, "return no models"},
      {{.method = "fedavg", .local = "amd"}, "the mean of the anchors"},
      {{.method = "fedamd", .local = "sgd"}, "has no anchors"},
      {{.method = "fedamd", .plan = "ring"}, "no server"},
      {{.method = "dadao", .combine = "median"}, "where two average"},
  };
  for (const auto& [texts, expected] : wrong) {
    const auto method = MixMethod::parse(texts);
    ASSERT_FALSE(method.ok()) << expected;
    EXPECT_EQ(method.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(method.status().message(), HasSubstr(expected));
  }
}

// --- Plans.

std::vector<std::string> neighbour_plans() {
  std::vector<std::string> all;
  for (const TopologyDef* const def : topologies()) {
    // That name is a server here.
    if (def->name != "star") all.emplace_back(def->name);
  }
  all.insert(all.end(), {"pairs", "pairs:share=1", "pairs:dense_from=3:dense_rounds=2"});
  return all;
}

TEST(MixPlan, RowsAreSymmetricAndDoublyStochastic) {
  for (const std::string& text : neighbour_plans()) {
    const MixPlan plan = *MixPlan::parse(text, 5);
    EXPECT_EQ(plan.style(), MixStyle::kNeighbours);
    for (const std::uint32_t members : {1U, 2U, 3U, 12U, 17U}) {
      for (std::uint64_t version = 0; version < 6; ++version) {
        std::map<std::pair<std::uint32_t, std::uint32_t>, double> matrix;
        std::vector<double> rows(members);
        std::vector<double> columns(members);
        for (std::uint32_t i = 0; i < members; ++i) {
          for (const MixWeight& source : plan.row(i, version, members)) {
            ASSERT_GE(source.weight, -1e-12) << text;
            matrix[{i, source.member}] = source.weight;
            rows[i] += source.weight;
            columns[source.member] += source.weight;
          }
        }
        EXPECT_THAT(rows, Pointwise(DoubleNear(1e-9), std::vector<double>(members, 1.0))) << text;
        EXPECT_THAT(columns, Pointwise(DoubleNear(1e-9), std::vector<double>(members, 1.0)))
            << text;
        for (const auto& [at, weight] : matrix) {
          EXPECT_NEAR((matrix[{at.second, at.first}]), weight, 1e-12) << text;
        }
      }
    }
  }
}

TEST(MixPlan, AllAreEqualOnACompleteGraphToTheBit) {
  const MixPlan plan = *MixPlan::parse("complete", 1);
  for (const MixWeight& source : plan.row(2, 7, 6)) EXPECT_EQ(source.weight, 1.0 / 6);
}

TEST(MixPlan, DenseRoundsAreWhereTheyAreAskedFor) {
  const MixPlan plan = *MixPlan::parse("pairs:share=0:dense_from=3:dense_rounds=2", 1);
  std::vector<std::size_t> sources;
  for (std::uint64_t version = 0; version < 7; ++version) {
    sources.push_back(plan.row(0, version, 5).size());
  }
  EXPECT_THAT(sources, ElementsAre(1, 1, 1, 5, 5, 1, 1));
}

TEST(MixPlan, EveryMemberIsDrawnEquallyOften) {
  // 4 of 16 in 4,000 versions: 1,000 each, with a standard deviation of sqrt(4000 * 3 / 16) = 27.
  for (const char* const text : {"star:fraction=0.25", "sampled:size=4"}) {
    const MixPlan plan = *MixPlan::parse(text, 3);
    std::vector<int> drawn(16);
    for (std::uint64_t version = 0; version < 4000; ++version) {
      const std::vector<std::uint32_t> trainers =
          plan.trainers(version, std::vector<bool>(16, true));
      ASSERT_EQ(trainers.size(), 4U);
      for (const std::uint32_t member : trainers) ++drawn[member];
    }
    for (const int count : drawn) EXPECT_NEAR(count, 1000, 5 * 27) << text;
  }
}

TEST(MixPlan, TheCombinerIsOneOfTheNextVersion) {
  const MixPlan plan = *MixPlan::parse("sampled:size=4", 3);
  std::vector<bool> alive(16, true);
  for (std::uint64_t version = 0; version < 50; ++version) {
    const std::uint32_t combiner = plan.combiner(version, alive);
    EXPECT_TRUE(std::ranges::binary_search(plan.trainers(version + 1, alive), combiner));
    std::vector<bool> fewer = alive;
    fewer[combiner] = false;
    EXPECT_NE(plan.combiner(version, fewer), combiner);
    EXPECT_EQ(plan.trainers(version, fewer).size(), 4U);
  }
}

TEST(MixPlan, WhomOthersMayHaveDrawnMayTrain) {
  // Two members that another one takes for lost leave their places to the next two in the order.
  const MixPlan plan = *MixPlan::parse("sampled:size=4", 3);
  const std::vector<bool> alive(16, true);
  const std::vector<std::uint32_t> drawn = plan.trainers(7, alive);
  std::vector<bool> as_seen = alive;
  as_seen[drawn[0]] = as_seen[drawn[2]] = false;
  for (const std::uint32_t member : plan.trainers(7, as_seen)) {
    EXPECT_TRUE(plan.may_train(7, member, alive)) << member;
  }
  int many = 0;
  for (std::uint32_t member = 0; member < 16; ++member) many += plan.may_train(7, member, alive);
  EXPECT_EQ(many, 8) << "the others send nothing that counts";
}

TEST(MixPlan, OnlyThoseAliveAreDrawn) {
  std::vector<bool> alive(16, false);
  alive[3] = alive[9] = true;
  for (const char* const text : {"star", "star:fraction=0.5", "sampled:size=4"}) {
    const MixPlan plan = *MixPlan::parse(text, 3);
    EXPECT_THAT(plan.trainers(5, alive), ElementsAre(3, 9)) << text;
    EXPECT_FALSE(plan.trainers(5, std::vector<bool>(16, false)).empty()) << text;
  }
}

// --- Triggers.

TimePoint at(double seconds) { return TimePoint() + from_seconds(seconds); }

TEST(MixTrigger, WeightsNeverRiseWithStaleness) {
  for (const MixTriggerDef* const def : mix_triggers()) {
    const auto weight_of = [&](std::uint64_t staleness) {
      const auto state = MixTrigger::parse(def->name)->make(1, 5);
      const std::vector<std::uint32_t> expected = {0};
      state->begin(100, expected, at(0));
      state->assign(0, at(0));
      if (!state->add({0, 100 - staleness, 5, 1}, at(1))) return 0.0;
      return state->take(at(1)).front().value();
    };
    EXPECT_GT(weight_of(0), 0) << def->name;
    for (std::uint64_t staleness = 0; staleness < 20; ++staleness) {
      EXPECT_LE(weight_of(staleness + 1), weight_of(staleness)) << def->name;
    }
  }
}

TEST(MixTrigger, EachContributionIsTakenOnce) {
  for (const MixTriggerDef* const def : mix_triggers()) {
    const auto state = MixTrigger::parse(def->name)->make(1, 5);
    const std::vector<std::uint32_t> expected = {0};
    state->begin(0, expected, at(0));
    state->assign(0, at(0));
    ASSERT_TRUE(state->add({0, 0, 5, 1}, at(1)));
    ASSERT_TRUE(state->ready(at(1))) << def->name;
    EXPECT_EQ(state->take(at(1)).size(), 1U);
    EXPECT_FALSE(state->ready(at(2))) << def->name;
  }
}

TEST(MixTrigger, TheBufferWeighsAsFedBuff) {
  const auto state = MixTrigger::parse("buffer:size=2:staleness=0.5")->make(4, 5);
  state->begin(8, {}, at(0));
  state->add({1, 8, 5, 1}, at(1));
  state->add({2, 5, 5, 1}, at(1));  // three versions old: (1 + 3)^-1/2 = 1/2
  ASSERT_TRUE(state->full());
  EXPECT_THAT(state->take(at(1)), ElementsAre(Optional(0.5), Optional(0.25)));
}

TEST(MixTrigger, ManyStepsCountByTheirMean) {
  const auto state = MixTrigger::parse("buffer:size=2:staleness=0:by_steps=1")->make(4, 6);
  state->begin(0, {}, at(0));
  state->add({1, 0, 6, 1}, at(1));
  state->add({2, 0, 12, 1}, at(1));
  EXPECT_THAT(state->take(at(1)), ElementsAre(Optional(0.5), Optional(0.25)));
}

TEST(MixTrigger, PeriodsAreCountedInWholeOnes) {
  const auto state = MixTrigger::parse("period:seconds=2")->make(4, 5);
  state->begin(0, {}, at(0));
  for (const std::uint32_t member : {1U, 2U}) state->assign(member, at(0));
  state->add({1, 0, 5, 1.5}, at(1.5));
  EXPECT_FALSE(state->ready(at(1.9)));
  ASSERT_TRUE(state->ready(at(2)));
  EXPECT_THAT(state->take(at(2)), ElementsAre(Optional(0.25)));
  state->assign(1, at(2));
  state->add({2, 0, 5, 2.5}, at(2.5));
  state->add({1, 0, 5, 1.5}, at(3.5));
  EXPECT_THAT(state->take(at(4)), ElementsAre(Optional(0.5), Optional(0.25)));
  // Nobody comes in the third period; the fourth is over at 8.
  EXPECT_FALSE(state->deadline().has_value());
  state->add({1, 0, 5, 1}, at(6.5));
  EXPECT_EQ(state->deadline(), at(8));
}

// A member of a second a step and one of three.
TEST(MixTrigger, GroupsArePlannedByTheFastest) {
  const auto state = MixTrigger::parse("groups:least=10:most=40:alpha=1")->make(2, 5);
  state->begin(0, {}, at(0));
  // The first work is the least, and each counts by itself.
  EXPECT_EQ(state->assign(0, at(0)), 10U);
  EXPECT_EQ(state->assign(1, at(0)), 10U);
  state->add({0, 0, 10, 10}, at(10));
  ASSERT_TRUE(state->ready(at(10)));
  EXPECT_THAT(state->take(at(10)), ElementsAre(Optional(0.5)));
  state->begin(1, {}, at(10));
  // Nobody is in a group: the most, until 50, and at the latest until 70.
  EXPECT_EQ(state->assign(0, at(10)), 40U);
  state->add({1, 0, 10, 30}, at(30));
  ASSERT_TRUE(state->ready(at(30)));
  EXPECT_THAT(state->take(at(30)), ElementsAre(Optional(0.5 / std::sqrt(2.0))));
  state->begin(2, {}, at(30));
  // Until 50 it could take six steps, too few; so it is back when the other is, after its next
  // work: (70 + 40 - 30) / 3 = 26.
  EXPECT_EQ(state->assign(1, at(30)), 26U);
  state->add({0, 1, 40, 40}, at(50));
  ASSERT_TRUE(state->ready(at(50)));
  EXPECT_EQ(state->take(at(50)).size(), 1U);
  state->begin(3, {}, at(50));
  // The other's group is there at 108: 58 steps are too many for the most, so a new group.
  EXPECT_EQ(state->assign(0, at(50)), 40U);
}

TEST(MixTrigger, AGroupWaitsForAllOfItUntilItsLatestTime) {
  const auto state = MixTrigger::parse("groups:least=1:most=10:latest=2")->make(3, 5);
  state->begin(0, {}, at(0));
  for (const std::uint32_t member : {0U, 1U, 2U}) state->assign(member, at(0));
  for (const std::uint32_t member : {0U, 1U, 2U}) state->add({member, 0, 1, 1}, at(1));
  state->take(at(1));
  state->begin(1, {}, at(1));
  for (const std::uint32_t member : {0U, 1U, 2U}) EXPECT_EQ(state->assign(member, at(1)), 10U);
  state->add({0, 1, 10, 10}, at(11));
  EXPECT_FALSE(state->ready(at(11)));
  EXPECT_FALSE(state->may_start(0));
  EXPECT_EQ(state->deadline(), at(21));
  state->add({1, 1, 10, 10}, at(12));
  EXPECT_FALSE(state->ready(at(12)));
  EXPECT_TRUE(state->ready(at(21)));
  EXPECT_EQ(state->take(at(21)).size(), 2U);
  state->begin(2, {}, at(21));
  // The third is late and goes alone.
  state->add({2, 1, 10, 30}, at(31));
  EXPECT_TRUE(state->ready(at(31)));
}

TEST(MixTrigger, ALostMemberIsNotWaitedFor) {
  const auto state = MixTrigger::parse("round")->make(3, 5);
  const std::vector<std::uint32_t> expected = {0, 1, 2};
  state->begin(0, expected, at(0));
  state->add({0, 0, 5, 1}, at(1));
  state->add({1, 0, 5, 1}, at(1));
  EXPECT_FALSE(state->ready(at(1)));
  state->lose(2, at(2));
  EXPECT_TRUE(state->ready(at(2)));
}

// --- Combinations.

struct Deltas {
  std::vector<std::vector<float>> values;
  std::vector<float> reference;
  std::vector<MixTensor> tensors;
  std::shared_ptr<TestMixProbe> probe = std::make_shared<TestMixProbe>();
  std::shared_ptr<MixJudge> judge =
      std::make_shared<ScriptedJudge>(std::vector<std::size_t>{1, 2}, [](auto) {
        return std::vector<double>{0.5, 0.75};
      });
  MixUnits outputs = {TestMixProbe::kOutputs,
                      {{TestMixProbe::kElements - TestMixProbe::kOutputs * TestMixProbe::kUnits, 1,
                        TestMixProbe::kUnits}}};

  explicit Deltas(int count, std::size_t elements, std::uint64_t seed)
      : reference(elements), tensors{{0, elements, true}} {
    Rng rng(seed);
    for (float& value : reference) value = static_cast<float>(rng.normal());
    for (int i = 0; i < count; ++i) {
      for (float& value : values.emplace_back(elements)) value = static_cast<float>(rng.normal());
    }
  }
  MixInput input() const {
    MixInput input{
        .reference = reference,
        .deltas = {values.begin(), values.end()},
        .from = {},
        .weights = std::vector<double>(values.size(), 1.0 / static_cast<double>(values.size())),
        .tensors = tensors,
        .members = static_cast<std::uint32_t>(values.size()),
        .self = 0,
        .probe = probe.get(),
        .judge = judge.get(),
        .outputs = &outputs};
    for (std::uint32_t i = 0; i < input.members; ++i) input.from.push_back(i);
    input.bases.resize(values.size());
    return input;
  }
};

std::vector<float> combined(const MixInput& input, MixCombineState& state) {
  std::vector<float> out(input.reference.size());
  state.combine(input, out);
  return out;
}

TEST(MixCombine, EqualDeltasGiveThatDelta) {
  std::vector<std::string> all = {"median", "nnm trimmed_mean"};
  for (const MixCombineDef* const def : mix_combines()) {
    // To foolsgold, members who are alike are one person's.
    if (def->name != "foolsgold") all.emplace_back(def->name);
  }
  for (const std::string& text : all) {
    Deltas deltas(5, TestMixProbe::kElements, 1);
    for (auto& each : deltas.values) each = deltas.values.front();
    const auto state = MixCombine::parse(text, 1)->make(1);
    EXPECT_THAT(combined(deltas.input(), *state),
                Pointwise(FloatNear(1e-6F), deltas.values.front()))
        << text;
  }
}

TEST(MixCombine, VarianceIsThatOfTheMembers) {
  // Sixteen unrelated models: the mean's deviation is a quarter of theirs, and comes back.
  Deltas deltas(16, 4000, 2);
  deltas.reference.assign(4000, 0);
  const auto deviation = [](const std::vector<float>& values) {
    double mean = 0;
    double squares = 0;
    for (const float value : values) mean += value;
    mean /= static_cast<double>(values.size());
    for (const float value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
  };
  const auto plain = MixCombine::parse("mean", 0)->make(1);
  EXPECT_NEAR(deviation(combined(deltas.input(), *plain)), 0.25, 0.02);
  const auto state = MixCombine::parse("variance", 0)->make(1);
  EXPECT_NEAR(deviation(combined(deltas.input(), *state)), 1.0, 0.02);
  // Buffers are left alone.
  deltas.tensors.front().trained = false;
  EXPECT_EQ(combined(deltas.input(), *state), combined(deltas.input(), *plain));
}

TEST(MixCombine, TheMemoryKeepsWhatCameLast) {
  const auto state = MixCombine::parse("memory", 0)->make(1);
  Deltas deltas(4, 1, 3);
  MixInput input = deltas.input();
  const std::vector<float> two = {2};
  const std::vector<float> six = {6};
  const auto only = [&](std::uint32_t from, const std::vector<float>& value) {
    input.deltas = {value};
    input.from = {from};
    input.weights = {1.0};
    return combined(input, *state).front();
  };
  EXPECT_EQ(only(0, two), 2.0F / 4);        // three others: nothing yet
  EXPECT_EQ(only(1, six), (2.0F + 6) / 4);  // and that of 0
  EXPECT_EQ(only(0, six), (6.0F + 6) / 4);
}

TEST(MixCombine, ALiarIsOutvoted) {
  Deltas deltas(5, 30, 4);
  for (auto& each : deltas.values) each.assign(30, 1.0F);
  deltas.values[3].assign(30, -1e9F);
  const auto state = MixCombine::parse("median", 1)->make(1);
  EXPECT_THAT(combined(deltas.input(), *state),
              Pointwise(FloatNear(1e-6F), std::vector<float>(30, 1.0F)));
  EXPECT_FALSE(MixCombine::parse("median", 3)->check(5).ok());
}

// --- Outer steps.

TEST(MixOuter, PlainIsTheModelMinusTheDelta) {
  const MixOuter outer;
  EXPECT_TRUE(outer.is_plain());
  std::vector<float> model = {1, 2};
  const std::vector<float> delta = {0.25, -1};
  MixOuterMemory memory = outer.memory(2);
  outer.step(model, delta, std::vector<MixTensor>{{0, 2, true}}, memory);
  EXPECT_THAT(model, ElementsAre(0.75F, 3.0F));
}

// Two steps with the delta 1 from 0, by hand.
TEST(MixOuter, TwoStepsAreThoseOfTheFormulas) {
  const std::map<std::string, std::pair<float, float>> expected = {
      {"momentum:rate=0.5:momentum=0.5", {-0.5F, -0.5F - 0.75F}},
      // m = 1, then 1.5; steps 1 + 0.5, then 1 + 0.75.
      {"nesterov:rate=1:momentum=0.5", {-1.5F, -1.5F - 1.75F}},
      // m = 0.1, v = 0.01: 0.1 / 0.1; m = 0.19, v = 0.0199: 0.19 / 0.141067.
      {"adam:rate=1:epsilon=1e-12", {-1.0F, -1.0F - 1.3468789F}},
  };
  for (const auto& [text, values] : expected) {
    const MixOuter outer = *MixOuter::parse(text);
    std::vector<float> model = {0, 0};
    MixOuterMemory memory = outer.memory(2);
    const std::vector<MixTensor> tensors = {{0, 1, true}, {1, 2, false}};
    const std::vector<float> delta = {1, 1};
    outer.step(model, delta, tensors, memory);
    EXPECT_NEAR(model[0], values.first, 1e-5) << text;
    outer.step(model, delta, tensors, memory);
    EXPECT_NEAR(model[0], values.second, 1e-5) << text;
    EXPECT_EQ(model[1], -2.0F) << "buffers move by the whole delta";
  }
}

}  // namespace
}  // namespace weft::mix_families_test
