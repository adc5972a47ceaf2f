#include "weft/sim/machine/disruption.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim::disruption_test {
namespace {

using testing::ElementsAre;

TEST(Disruption, TextsAreReadAndRefused) {
  const Result<Disruption> hubs = parse_disruption("leave=hubs:10@20");
  ASSERT_TRUE(hubs.ok());
  EXPECT_TRUE(hubs->leaves && hubs->hubs);
  EXPECT_EQ(hubs->count, 10U);
  EXPECT_EQ(hubs->round, 20U);
  const Result<Disruption> data = parse_disruption("data=random:3@1");
  ASSERT_TRUE(data.ok());
  EXPECT_FALSE(data->leaves || data->hubs);
  for (const char* const text :
       {"", "leave", "leave=hubs", "leave=hubs:1", "leave=hubs:0@1", "leave=hubs:1@0",
        "stay=hubs:1@1", "leave=all:1@1", "leave=hubs:-1@1", "leave=hubs:1@1x", "@:="}) {
    EXPECT_TRUE(parse_disruption(text).status().message().starts_with("--disrupt: expected"))
        << text;
  }
}

TEST(Disruption, HubsHaveTheMostNeighbours) {
  Rng draws(1, 1);
  const std::vector<DisruptionTarget> targets = {{0, 2}, {3, 5}, {4, 9}, {7, 5}, {9, 1}};
  EXPECT_THAT(chosen_by({true, true, 2, 1}, targets, draws), ElementsAre(3, 4));
  EXPECT_THAT(chosen_by({true, true, 9, 1}, targets, draws), ElementsAre(0, 3, 4, 7, 9));
}

TEST(Disruption, EveryoneIsDrawnAsOften) {
  Rng draws(1, 2);
  std::vector<DisruptionTarget> targets;
  for (std::size_t i = 0; i < 5; ++i) targets.push_back({i, 0});
  std::vector<int> counts(5);
  constexpr int kDraws = 5000;
  for (int i = 0; i < kDraws; ++i) {
    for (const std::size_t peer : chosen_by({true, false, 2, 1}, targets, draws)) ++counts[peer];
  }
  // Two of five, with a deviation of 35.
  for (const int count : counts) EXPECT_NEAR(count, 2000, 175);
}

TEST(Disruption, PartsOfAGraphAreFound) {
  const auto parts = connected_parts({{1}, {0, 2}, {1, 3}, {2, 4}, {3}, {}},
                                     {true, true, false, true, true, true});
  EXPECT_THAT(parts, ElementsAre(ElementsAre(0, 1), ElementsAre(3, 4), ElementsAre(5)));
}

}  // namespace
}  // namespace weft::sim::disruption_test
