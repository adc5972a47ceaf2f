// Runs that end while others come: whoever asks gets the final state or is told, and nobody waits.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_end_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr Duration kLongest = seconds(15);

// A swarm whose processes end as real ones do: links are closed in order, then nobody listens.
struct EndWorld final : TestSwarm {
  EndWorld(std::uint64_t seed, std::uint64_t last_round, const SimNetworkOptions& network = {})
      : TestSwarm(with_seed(network, seed), last_round) {}

  static SimNetworkOptions with_seed(SimNetworkOptions network, std::uint64_t seed) {
    network.seed = seed;
    return network;
  }

  void on_started(SwarmPeer& peer) override {
    peer.set.on_pumped = [this, &peer] { watch(peer); };
    begun[peer.id] = net.now();
  }
  void watch(SwarmPeer& peer) {
    const bool over = (peer.leaving && peer.core->left()) || !peer.failure.ok();
    if (!over || !ended.try_emplace(peer.id, net.now()).second) return;
    net.call_at(net.now() + milliseconds(1), [this, &peer] {
      if (!*peer.alive) return;
      for (const PeerId& other : peer.core->partners()) {
        if (peer.transport.linked(other)) peer.transport.close(other, unavailable("it has left"));
      }
    });
    net.call_at(net.now() + milliseconds(30), [&peer] {
      if (*peer.alive) peer.crash(SimCrash::kKilled);
    });
  }
  bool all_ended() const {
    return std::ranges::all_of(
        peers, [&](const auto& peer) { return !*peer->alive || ended.contains(peer->id); });
  }
  bool has_final_state(const SwarmPeer& peer) const {
    return peer.finished && peer.failure.ok() && peer.round() == options.last_round &&
           peer.trainer.state() == trained(elements, options.last_round.value()).state();
  }
  // From the end of the first member's last round.
  Duration waited(const SwarmPeer& peer) {
    return ended.at(peer.id) - std::max(begun.at(peer.id), over_at);
  }

  std::map<PeerId, TimePoint> begun;
  std::map<PeerId, TimePoint> ended;
  TimePoint over_at{};
};

// How many came to which end.
struct Ends {
  int final_state = 0;
  int told = 0;
  int gone = 0;
};

void join_at_the_end(std::uint64_t seed, Ends& ends) {
  Rng rng(seed, 5);
  SimNetworkOptions network;
  network.delay_mean = milliseconds(1 + static_cast<std::int64_t>(rng.below(20)));
  if (rng.chance(0.5)) network.bytes_per_second = 200'000 + rng.below(2'000'000);
  EndWorld world(seed, 30, network);
  world.elements = rng.chance(0.5) ? 3000 : 20000;
  world.compute = milliseconds(1 + static_cast<std::int64_t>(rng.below(30)));
  const int members = 1 + static_cast<int>(rng.below(3));
  world.start(members);
  ASSERT_TRUE(world.run_to_round(0, 24 + rng.below(6)));
  const Ticket ticket = world.peers[0]->ticket();
  const auto joiners = static_cast<std::uint32_t>(1 + rng.below(4));
  for (std::uint32_t i = 0; i < joiners; ++i) {
    world.net.run_until(world.net.now() + milliseconds(rng.below(80)));
    world.add(100 + i).join(ticket);
  }
  ASSERT_TRUE(world.run_to_round(0, 30));
  world.over_at = world.net.now();
  EXPECT_TRUE(world.run([&] { return world.all_ended(); }));
  for (std::size_t i = 0; i < world.peers.size(); ++i) {
    const SwarmPeer& peer = *world.peers[i];
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << i << ": " << peer.describe());
    ASSERT_TRUE(world.ended.contains(peer.id));
    EXPECT_LE(world.waited(peer), kLongest);
    if (i < static_cast<std::size_t>(members)) {
      EXPECT_TRUE(world.has_final_state(peer));
    } else if (world.has_final_state(peer)) {
      ++ends.final_state;
    } else {
      const std::string& why = peer.failure.message();
      EXPECT_FALSE(peer.failure.ok());
      EXPECT_TRUE(peer.saw(SwarmEventKind::kRunMissed)) << why;
      ++(why.find("the run ended at round 30") != std::string::npos ? ends.told : ends.gone);
    }
  }
}

TEST(SwarmEnd, WhoComesInTheLastMomentsGetsTheFinalStateOrIsTold) {
  Ends ends;
  const TestSeeds seeds(1, 60);
  for (const std::uint64_t seed : seeds) join_at_the_end(seed, ends);
  RecordProperty("final_state", ends.final_state);
  RecordProperty("told", ends.told);
  RecordProperty("found_nobody", ends.gone);
  if (!seeds.whole()) return;
  EXPECT_GT(ends.final_state, 90) << ends.told << " told, " << ends.gone << " found nobody";
  EXPECT_GT(ends.gone, 0) << "some come when all have gone";
}

TEST(SwarmEnd, MembersWaitForWhoTakesTheFinalStateAndNoLonger) {
  EndWorld world(3, 30, {.bytes_per_second = 400'000});
  world.elements = 200'000;
  world.start(2);
  ASSERT_TRUE(world.run_to_round(0, 28));
  SwarmPeer& late = world.add(9);
  late.join(world.peers[0]->ticket());
  ASSERT_TRUE(world.run_to_round(0, 30));
  world.over_at = world.net.now();
  ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
  EXPECT_TRUE(world.has_final_state(late)) << late.describe();
  EXPECT_TRUE(late.members_of_turns.empty()) << "it was not admitted";
  EXPECT_TRUE(late.saw(SwarmEventKind::kRunOver));
  const TimePoint served = world.ended.at(late.id);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(world.has_final_state(*world.peers[i]));
    EXPECT_LE(world.ended.at(world.peers[i]->id), served + milliseconds(100));
    EXPECT_GE(world.ended.at(world.peers[i]->id), served - milliseconds(100));
  }
}

TEST(SwarmEnd, WhoCannotTakeItInTimeIsToldPlainly) {
  EndWorld world(4, 30, {.bytes_per_second = 100'000});
  world.options.linger = seconds(2);
  world.elements = 200'000;
  world.start(1);
  ASSERT_TRUE(world.run_to_round(0, 28));
  SwarmPeer& late = world.add(9);
  late.join(world.peers[0]->ticket());
  ASSERT_TRUE(world.run_to_round(0, 30));
  world.over_at = world.net.now();
  ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
  EXPECT_TRUE(world.has_final_state(*world.peers[0]));
  EXPECT_THAT(late.failure.message(), HasSubstr("the run ended at round 30"));
  EXPECT_LE(world.waited(late), seconds(3));
}

TEST(SwarmEnd, NobodyIsWaitedForWhereNobodyComes) {
  EndWorld world(5, 30);
  world.start(3);
  ASSERT_TRUE(world.run_to_round(0, 30));
  const TimePoint over = world.net.now();
  ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
  for (const auto& peer : world.peers) {
    EXPECT_TRUE(world.has_final_state(*peer));
    EXPECT_LE(world.ended.at(peer->id), over + milliseconds(50));
  }
}

// The last member but one, or all others, are killed while it waits for their Finished.
TEST(SwarmEnd, AMemberThatHasAllIsFinishedWhoeverDiesThen) {
  for (const std::uint64_t seed : TestSeeds(1, 30)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EndWorld world(seed, 20, {.delay_mean = milliseconds(10)});
    world.start(3);
    ASSERT_TRUE(world.run_to_round(0, 20));
    world.over_at = world.net.now();
    world.peers[1]->crash(SimCrash::kKilled);
    world.peers[2]->crash(seed % 2 == 0 ? SimCrash::kKilled : SimCrash::kPowerLoss);
    ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
    EXPECT_TRUE(world.has_final_state(*world.peers[0])) << world.peers[0]->describe();
    EXPECT_FALSE(world.peers[0]->saw(SwarmEventKind::kQuorumLost));
    EXPECT_LE(world.waited(*world.peers[0]), seconds(6));
  }
}

// Rounds that do not wait: it computes on while the others come to the end, and then has all the
// sums itself.
TEST(SwarmEnd, AMemberThatStillComputesFinishesByItself) {
  EndWorld world(6, 20);
  world.options.start_members = 3;
  for (std::uint32_t i = 0; i < 3; ++i) {
    SwarmPeer& peer = world.add(i);
    peer.set.stand_in = [&](const Turn&) {
      StandIn given;
      given.deadline = milliseconds(20);
      given.elements = static_cast<std::int64_t>(world.elements);
      return given;
    };
    const bool slow = i == 2;
    peer.set.compute = [&world, slow] {
      const bool near_the_end = world.peers[0]->round().value() >= 10;
      return slow && near_the_end ? seconds(14) : Duration(milliseconds(2));
    };
    i == 0 ? peer.found() : peer.join(world.peers[0]->ticket());
  }
  ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
  for (const auto& peer : world.peers) {
    EXPECT_TRUE(peer->finished) << peer->describe();
    EXPECT_EQ(peer->round(), Round(20));
    EXPECT_EQ(peer->trainer.state(), world.peers[0]->trainer.state());
  }
}

TEST(SwarmEnd, ANewcomerWhoseOnlyMemberIsKilledSaysThatTheRunIsGone) {
  EndWorld world(7, 1000, {.bytes_per_second = 200'000});
  world.elements = 200'000;
  world.start(1);
  ASSERT_TRUE(world.run_to_round(0, 5));
  SwarmPeer& late = world.add(9);
  late.join(world.peers[0]->ticket());
  world.net.run_until(world.net.now() + seconds(1));
  world.peers[0]->crash(SimCrash::kKilled);
  world.over_at = world.net.now();
  ASSERT_TRUE(world.run([&] { return world.all_ended(); }));
  EXPECT_THAT(late.failure.message(), HasSubstr("the run is gone"));
  EXPECT_TRUE(late.saw(SwarmEventKind::kRunMissed));
  EXPECT_LE(world.waited(late), seconds(7));
}

}  // namespace
}  // namespace weft::swarm_end_test
