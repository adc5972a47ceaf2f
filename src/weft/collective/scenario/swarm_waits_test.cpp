// Members that compute too long: the others say so, go on, and take them back.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/collective/parts/round_waits.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_waits_test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Duration kForEver = hours(100000);

// Peers whose computing takes as long as told and cannot be interrupted, as that of a thread.
struct World final : TestSwarm {
  explicit World(std::uint64_t last_round) : TestSwarm(5, last_round) { run_limit = minutes(60); }

  void start(std::size_t members) {
    takes.assign(members, usual);
    hang_at.assign(members, 0);
    TestSwarm::start(static_cast<int>(members));
  }
  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    settings.stand_in = [this, number](const Turn& turn) {
      if (turn.round.value() == hang_at[number]) takes[number] = kForEver;
      return StandIn();
    };
    // Once as `takes` has it, then as usual again.
    settings.compute = [this, number] { return std::exchange(takes[number], usual); };
    return settings;
  }
  // The first `count` peers come to the end.
  bool run_to_end(std::size_t count) {
    const auto all = std::span(peers).first(count);
    return run(
        [&] { return std::ranges::all_of(all, [](const auto& peer) { return peer->finished; }); });
  }
  const SwarmEvent* event(std::size_t peer, SwarmEventKind kind) const {
    for (const SwarmEvent& each : peers[peer]->events) {
      if (each.kind == kind) return &each;
    }
    return nullptr;
  }
  std::int64_t count(std::size_t peer, SwarmEventKind kind) const {
    return std::ranges::count(peers[peer]->events, kind, &SwarmEvent::kind);
  }
  void expect_right_state(std::size_t peer) const {
    EXPECT_EQ(peers[peer]->round(), options.last_round) << peers[peer]->describe();
    EXPECT_EQ(peers[peer]->trainer.state(),
              trained(peers[peer]->trainer.elements(), options.last_round.value()).state());
  }

  Duration usual = milliseconds(10);
  std::vector<Duration> takes;
  // The round in which a peer begins to compute for ever; 0: none.
  std::vector<std::uint64_t> hang_at;
};

TEST(SwarmWaits, OneThatComputesForEverIsNamedAtOnceAndTheOthersGoOn) {
  for (const std::size_t members : {2U, 3U, 5U, 8U}) {
    SCOPED_TRACE(members);
    World world(60);
    world.start(members);
    ASSERT_TRUE(world.run_to_round(0, 20));
    const std::size_t stuck = members - 1;
    world.takes[stuck] = kForEver;
    const TimePoint begun = world.net.now();
    ASSERT_TRUE(world.run([&] { return world.event(0, SwarmEventKind::kWaiting) != nullptr; }));
    EXPECT_LT(world.net.now() - begun, seconds(3));
    EXPECT_EQ(world.event(0, SwarmEventKind::kWaiting)->peers,
              std::vector<PeerId>{world.peers[stuck]->id});
    EXPECT_EQ(world.peers[0]->core->status().waits_for.size(), 1U);
    EXPECT_EQ(world.peers[stuck]->core->status().awaited_by.size(), members - 1);
    ASSERT_TRUE(world.run_to_end(stuck));
    // The floor of the limit, and the change of view.
    EXPECT_LT(world.net.now() - begun, seconds(70));
    for (std::size_t i = 0; i < stuck; ++i) {
      world.expect_right_state(i);
      ASSERT_NE(world.event(i, SwarmEventKind::kOverdue), nullptr);
      EXPECT_THAT(world.peers[i]->text_of(SwarmEventKind::kPeerLeft), HasSubstr("computing for 6"));
    }
    EXPECT_THAT(world.peers[stuck]->text_of(SwarmEventKind::kAwaited),
                HasSubstr("after 60 s the others go on without it"));
    EXPECT_EQ(world.count(stuck, SwarmEventKind::kAwaited), 2) << "once, and once as a warning";
    EXPECT_THAT(world.peers[stuck]->text_of(SwarmEventKind::kRemoved), HasSubstr("computing"));
  }
}

TEST(SwarmWaits, HalfOfTheMembersAndMoreMayCompute) {
  for (const std::size_t stuck : {2U, 3U}) {
    SCOPED_TRACE(stuck);
    World world(60);
    world.start(4);
    for (std::size_t i = 4 - stuck; i < 4; ++i) world.hang_at[i] = 21;
    ASSERT_TRUE(world.run_to_round(0, 20));
    const TimePoint begun = world.net.now();
    ASSERT_TRUE(world.run_to_end(4 - stuck));
    const Duration took = world.net.now() - begun;
    // Where most of them compute, the one that does not may be the odd one.
    EXPECT_LT(took, stuck == 2 ? seconds(70) : seconds(200));
    EXPECT_GT(took, stuck == 2 ? seconds(55) : seconds(170));
    world.expect_right_state(0);
  }
}

TEST(SwarmWaits, ASlowOneComesBackWithHalfOfItsShare) {
  World world(4000);
  world.usual = milliseconds(50);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 20));
  world.takes[2] = seconds(90);
  SwarmPeer& slow = *world.peers[2];
  const auto size = [&] { return world.peers[0]->core->view().size(); };
  ASSERT_TRUE(world.run([&] { return size() == 2; }, seconds(75)));
  ASSERT_TRUE(world.run([&] { return size() == 3; }, seconds(60)));
  EXPECT_GT(world.peers[0]->round().value(), 100U) << "the others went on meanwhile";
  EXPECT_EQ(world.peers[0]->core->view().find(slow.id)->halvings, 1);
  EXPECT_EQ(world.peers[0]->core->view().find(world.peers[1]->id)->halvings, 0);
  ASSERT_TRUE(world.run_to_end(3));
  for (std::size_t i = 0; i < 3; ++i) world.expect_right_state(i);
  EXPECT_GT(std::ranges::count(slow.members_of_turns, 3), 100) << "and it works along";
}

TEST(SwarmWaits, AWaitThatEndsIsToldAndNobodyIsPutOut) {
  World world(60);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 20));
  world.takes[1] = seconds(20);
  ASSERT_TRUE(world.run_to_end(3));
  EXPECT_FALSE(world.peers[0]->saw(SwarmEventKind::kPeerLeft));
  // At 2, 4, 8 and 16 s.
  EXPECT_EQ(world.count(0, SwarmEventKind::kWaiting), 4);
  ASSERT_EQ(world.count(0, SwarmEventKind::kWaitOver), 1);
  EXPECT_NEAR(world.event(0, SwarmEventKind::kWaitOver)->seconds, 20, 1.5);
  EXPECT_EQ(world.count(1, SwarmEventKind::kAwaited), 1);
  for (std::size_t i = 0; i < 3; ++i) world.expect_right_state(i);
}

TEST(SwarmWaits, LongRoundsHaveLongLimitsAndUsualWaitsAreNoNews) {
  World world(40);
  world.usual = seconds(9);
  world.start(2);
  ASSERT_TRUE(world.run_to_round(0, 10));
  // More than the floor, and less than ten rounds.
  world.takes[1] = seconds(80);
  ASSERT_TRUE(world.run_to_round(0, 12));
  EXPECT_FALSE(world.peers[0]->saw(SwarmEventKind::kPeerLeft));
  const std::int64_t told = world.count(0, SwarmEventKind::kWaiting);
  EXPECT_GE(told, 4);
  // One that is always slower by 5 s.
  const auto slow_to = [&](std::uint64_t round) {
    return world.run(
        [&] {
          if (world.takes[1] == world.usual) world.takes[1] = seconds(14);
          return world.peers[0]->round().value() >= round;
        },
        hours(2));
  };
  ASSERT_TRUE(slow_to(35));
  EXPECT_LE(world.count(0, SwarmEventKind::kWaiting), told + 2);
}

TEST(SwarmWaits, ARecipeSetsTheLimitItself) {
  World world(60);
  world.options.compute_timeout = seconds(8);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 20));
  world.takes[2] = kForEver;
  const TimePoint begun = world.net.now();
  ASSERT_TRUE(world.run_to_end(2));
  EXPECT_LT(world.net.now() - begun, seconds(15));
}

TEST(RoundTimes, LimitIsTenMediansWithAFloorAndKnowsLengthsApart) {
  RoundTimes times({}, minutes(10));
  EXPECT_EQ(times.limit(100), minutes(10));
  for (int i = 0; i < 2; ++i) times.add(100, seconds(1));
  EXPECT_EQ(times.limit(100), minutes(10));
  times.add(100, hours(1));
  EXPECT_EQ(times.limit(100), seconds(60)) << "one pause is no median";
  for (int i = 0; i < 15; ++i) times.add(100, seconds(20));
  EXPECT_EQ(times.limit(100), seconds(200));
  EXPECT_EQ(times.limit(7), minutes(10)) << "an evaluation was not measured";
  for (int length = 1000; length < 1100; ++length) times.add(length, seconds(1));
  EXPECT_EQ(RoundTimes(seconds(5), minutes(10)).limit(3), seconds(5));
}

}  // namespace
}  // namespace weft::swarm_waits_test
