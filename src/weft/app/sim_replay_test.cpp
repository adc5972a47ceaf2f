#include "weft/app/sim_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/train/event/event.h"

namespace weft::sim_replay_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string line(double at, Event event) {
  event.unix_time_s = at;
  return to_json(event) + "\n";
}

// 10 samples of a step, two steps a round, of which it computes a quarter of `seconds`.
std::string round(double at, int step, double seconds) {
  return line(at, Event("round")
                      .with("round", step / 2)
                      .with("step", step)
                      .with("share", 10)
                      .with("round_seconds", seconds)
                      .with("compute_share", 0.25));
}

TEST(SimReplay, SpeedsAreMediansOfWhatAMemberComputed) {
  const std::string text = line(100, Event("started")) + round(104, 2, 1) + round(105, 4, 1) +
                           round(107, 6, 2) + round(109, 8, 2) + line(110, Event("summary")) +
                           "{\"t\": 11";
  const Result<ReplayedMember> member = parse_replayed("a", text);
  ASSERT_TRUE(member.ok()) << member.status().message();
  EXPECT_DOUBLE_EQ(member->samples_per_second, 20 / (0.25 * 2));
  EXPECT_TRUE(member->ended);
  EXPECT_EQ(member->started, 100);
  EXPECT_EQ(member->first_round, 1);
}

TEST(SimReplay, TheNewestStartCounts) {
  const std::string text = line(1, Event("started")) + round(2, 2, 9) + round(3, 4, 9) +
                           line(50, Event("started")) + round(51, 12, 1) + round(52, 14, 1);
  const Result<ReplayedMember> member = parse_replayed("a", text);
  ASSERT_TRUE(member.ok());
  EXPECT_EQ(member->started, 50);
  EXPECT_DOUBLE_EQ(member->samples_per_second, 80);
  EXPECT_FALSE(member->ended);
}

TEST(SimReplay, LateMembersJoinAndThoseWithoutAnEndAreLost) {
  const Replay replay = replay_of({{"late", 130, 17, 150, true, 30},
                                   {"second", 101, 1, 120, false, 20},
                                   {"first", 100, 1, 150, true, 10}});
  EXPECT_EQ(replay.peers, 2U);
  EXPECT_THAT(replay.samples_per_second, ElementsAre(10, 20, 30));
  EXPECT_THAT(replay.joins, ElementsAre(30));
  ASSERT_EQ(replay.crashes.size(), 1U);
  EXPECT_EQ(replay.crashes[0].peer, 1U);
  EXPECT_EQ(replay.crashes[0].seconds, 20);
}

TEST(SimReplay, WhatIsNoLogIsRefused) {
  EXPECT_THAT(parse_replayed("a", "no event\n").status().message(),
              HasSubstr("--replay: a/events.jsonl: line 1"));
  EXPECT_THAT(parse_replayed("a", line(1, Event("started"))).status().message(),
              HasSubstr("expected two rounds"));
  EXPECT_THAT(read_replay({"/nowhere"}).status().message(), HasSubstr("weft run --out /nowhere"));
}

}  // namespace
}  // namespace weft::sim_replay_test
