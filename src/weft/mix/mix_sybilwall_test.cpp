// sybilwall: the published code's own cases, what members report to each other, and false reports.
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/mix/combine/mix_combine.h"
#include "weft/mix/test_mix_group.h"

namespace weft::mix_sybilwall_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// A member whose first model and whose own model of each round are zeros.
struct Wall {
  explicit Wall(std::uint32_t number) : self(number) {}

  // Its neighbours' models by number; what it makes of them.
  std::vector<float> mixes(const std::map<std::uint32_t, std::vector<float>>& models,
                           std::uint64_t version = 0) {
    std::map<std::uint32_t, std::vector<float>> all = models;
    all[self] = std::vector<float>(models.begin()->second.size());
    const std::vector<float> reference(all[self].size());
    MixInput input{.reference = reference,
                   .deltas = {},
                   .from = {},
                   .weights = std::vector<double>(all.size(), 1.0 / 2),
                   .tensors = {},
                   .members = 16,
                   .version = version,
                   .self = self};
    for (auto& [member, model] : all) {
      for (float& value : model) value = -value;
      input.from.push_back(member);
      input.deltas.emplace_back(model);
    }
    std::vector<float> out(reference.size());
    state->combine(input, out);
    for (float& value : out) value = -value;
    return out;
  }

  const std::uint32_t self;
  const std::unique_ptr<MixCombineState> state = MixCombine::parse("sybilwall", 0)->make(1);
};

MixHistory history(std::uint32_t origin, std::uint64_t round, std::uint32_t distance,
                   std::vector<float> model) {
  return {origin, round, distance, std::make_shared<const std::vector<float>>(std::move(model))};
}

// In the published cases nobody has an own model. Here that is zero and counts 1.
TEST(SybilWall, TwoThatAreAlikeDoNotCount) {
  EXPECT_THAT(Wall(0).mixes({{1, {0, 1}}, {2, {1, 0}}, {3, {1, -1}}}),
              Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.5}));
}

TEST(SybilWall, ThreeThatDifferCountAlike) {
  EXPECT_THAT(Wall(0).mixes({{1, {0, 1}}, {2, {1, 0}}, {3, {0, -1}}}),
              Pointwise(FloatNear(1e-6F), std::vector<float>{0.25, 0}));
}

TEST(SybilWall, OneThatIsLikeAMemberFarAwayDoesNotCount) {
  Wall wall(0);
  EXPECT_THAT(wall.mixes({{1, {0, 1}}, {2, {1, 0}}}),
              Pointwise(FloatNear(1e-6F), std::vector<float>{1.0F / 3, 1.0F / 3}));
  wall.state->hear(1, history(9, 0, 1, {1, -1}));
  EXPECT_THAT(wall.mixes({{1, {0, 1}}, {2, {1, 0}}}, 1),
              Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.5}));
}

TEST(SybilWall, TheWayFromTheFirstModelCounts) {
  // All models are near (9, 9), where the first one was; what they moved by differs.
  Wall wall(0);
  const std::vector<float> first = {9, 9};
  const std::vector<std::vector<float>> deltas = {{0, 0}, {0, -1}, {-1, 0}, {0, 1}};
  MixInput input{.reference = first,
                 .deltas = {deltas.begin(), deltas.end()},
                 .from = {0, 1, 2, 3},
                 .weights = std::vector<double>(4, 0.25),
                 .tensors = {},
                 .members = 4,
                 .self = 0};
  std::vector<float> out(2);
  wall.state->combine(input, out);
  EXPECT_THAT(out, Pointwise(FloatNear(1e-5F), std::vector<float>{-0.25, 0}));
}

TEST(SybilWall, WhatIsNotFiniteDoesNotCount) {
  for (const float odd : {HUGE_VALF, std::nanf("")}) {
    Wall wall(0);
    wall.state->hear(1, history(9, 0, 1, {odd, 0}));
    EXPECT_THAT(wall.mixes({{1, {0, 1}}, {2, {odd, 0}}}),
                Pointwise(FloatNear(1e-6F), std::vector<float>{0, 0.5}));
  }
}

TEST(SybilWall, NewsTravelsFromMemberToMember) {
  Wall middle(1);
  EXPECT_FALSE(middle.state->told_to(0, 0).has_value()) << "it knows of nobody";
  middle.mixes({{0, {1, 0}}, {2, {0, 1}}}, 5);
  // Each of its two neighbours gets the model of the other.
  const auto told = middle.state->told_to(0, 6);
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->origin, 2U);
  EXPECT_EQ(told->round, 5U);
  EXPECT_EQ(told->distance, 1U);
  EXPECT_THAT(*told->model, Pointwise(FloatNear(0), std::vector<float>{0, 1}));

  Wall end(0);
  end.mixes({{1, {3, 0}}}, 5);
  end.state->hear(1, *told);
  EXPECT_FALSE(end.state->told_to(1, 6).has_value()) << "nothing goes back to where it came from";
  std::map<std::uint32_t, std::uint32_t> distances;
  for (std::uint64_t version = 6; version < 60; ++version) {
    const auto passed = end.state->told_to(7, version);
    ASSERT_TRUE(passed.has_value());
    distances[passed->origin] = passed->distance;
  }
  EXPECT_EQ(distances, (std::map<std::uint32_t, std::uint32_t>{{1, 1}, {2, 2}}));
}

TEST(SybilWall, NearMembersAreToldOfMoreOften) {
  Wall wall(0);
  wall.mixes({{1, {1, 0}}});
  wall.state->hear(1, history(8, 0, 1, {0, 1}));  // two links away here
  wall.state->hear(1, history(9, 0, 3, {0, 1}));  // four
  std::map<std::uint32_t, double> shares;
  constexpr int kTold = 8000;
  for (int version = 0; version < kTold; ++version) {
    shares[wall.state->told_to(5, static_cast<std::uint64_t>(version))->origin] += 1.0 / kTold;
  }
  const double all = 1 + std::exp(-1 / 1.25) + std::exp(-3 / 1.25);
  // Each share's standard deviation is below 0.0056.
  EXPECT_NEAR(shares[1], 1 / all, 0.028);
  EXPECT_NEAR(shares[8], std::exp(-1 / 1.25) / all, 0.028);
  EXPECT_NEAR(shares[9], std::exp(-3 / 1.25) / all, 0.028);
}

TEST(SybilWall, OnlyNewerNewsOfMembersFarAwayIsTaken) {
  Wall wall(0);
  const auto model_of = [&](std::uint32_t origin) {
    for (std::uint64_t version = 0; version < 200; ++version) {
      const auto told = wall.state->told_to(5, version);
      if (told && told->origin == origin) return told->model->front();
    }
    return -1.0F;
  };
  wall.mixes({{1, {4}}}, 3);
  wall.state->hear(1, history(9, 3, 1, {1}));
  wall.state->hear(2, history(9, 3, 1, {2}));
  EXPECT_EQ(model_of(9), 1) << "as old";
  wall.state->hear(2, history(9, 4, 1, {3}));
  EXPECT_EQ(model_of(9), 3);
  wall.state->hear(2, history(1, 9, 1, {5}));
  EXPECT_EQ(model_of(1), 4) << "a neighbour speaks for itself";
  wall.state->hear(2, history(7, 9, 1U << 16U, {5}));
  wall.state->hear(2, history(2, 9, 1, {5}));
  EXPECT_EQ(model_of(7), -1);
  EXPECT_EQ(model_of(2), -1);
}

// A core by itself, one of whose neighbours sends a report in round 3.
struct Listener {
  static constexpr std::uint32_t kMembers = 6;

  Listener()
      : core({.self = 0, .members = kMembers, .versions = 40, .steps = 1, .method = &method}, model,
             TimePoint()) {
    sends = works();
    for (std::uint32_t member = 1; member < kMembers; ++member) {
      if (member != sends[0].to && member != sends[1].to) far = member;
    }
  }
  std::vector<MixSend> works() {
    core.worked(core.take_work()->id, model, MixLoss{1, 0, 1, 1}, TimePoint());
    return core.take_sends();
  }
  // Who is reported to the other neighbour later, but for the teller.
  std::set<std::uint32_t> told_after(const MixHistory& heard) {
    const std::uint32_t teller = sends[0].to;
    const std::uint32_t other = sends[1].to;
    std::set<std::uint32_t> origins;
    for (std::uint64_t round = 0; round < 30; ++round) {
      for (const std::uint32_t from : {other, teller}) {
        MixReturned what = {round, 1, 1, {1, 0, 1, 1}, model};
        if (round == 3 && from == teller) what.history = heard;
        core.returned(from, what, TimePoint());
      }
      core.settle(TimePoint());
      if (core.version() != round + 1) ADD_FAILURE() << "it waits in round " << round;
      if (core.version() != round + 1) break;
      for (const MixSend& send : works()) {
        const auto& sent = std::get<MixReturned>(send.what);
        if (send.to == other && sent.history) origins.insert(sent.history->origin);
      }
    }
    EXPECT_EQ(origins.erase(teller), 1U);
    return origins;
  }

  const MixMethod method = *MixMethod::parse({.method = "sybilwall", .plan = "ring"});
  const MixVector model = std::make_shared<const std::vector<float>>(2, 1.0F);
  MixCore core;
  std::vector<MixSend> sends;
  std::uint32_t far = 0;
};

TEST(SybilWall, WhatCannotBeIsNotHeard) {
  const std::uint32_t far = Listener().far;
  EXPECT_THAT(Listener().told_after(history(far, 2, 1, {1, 2})), ElementsAre(far));
  const std::vector<std::pair<const char*, MixHistory>> odd = {
      {"no member", history(6, 2, 1, {1, 2})},
      {"this member itself", history(0, 2, 1, {1, 2})},
      {"what its teller cannot know yet", history(far, 3, 1, {1, 2})},
      {"a round that never comes", history(far, 1ULL << 60U, 1, {1, 2})},
      {"another model", history(far, 2, 1, {1})},
      {"no model", {far, 2, 1, nullptr}}};
  for (const auto& [what, heard] : odd) {
    EXPECT_THAT(Listener().told_after(heard), ElementsAre()) << what;
  }
}

TEST(SybilWall, AGroupThatTellsLearns) {
  TestMixOptions options;
  options.texts = {.method = "sybilwall"};
  options.members = 8;
  options.versions = 60;
  TestMixGroup group(options);
  group.run();
  ASSERT_TRUE(group.failure().ok());
  EXPECT_THAT(group.model(3), Pointwise(FloatNear(0.25F), std::vector<float>{1, 2, 3}));
}

}  // namespace
}  // namespace weft::mix_sybilwall_test
