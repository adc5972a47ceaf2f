// Many members that die and come, on a network that delays, reorders and loses.
#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "weft/gossip/gossip_core.h"
#include "weft/gossip/test_gossip_network.h"

namespace weft::gossip_churn_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::size_t kMembers = 200;
constexpr std::size_t kElements = 16;

TestGossipOptions churn_options(std::uint64_t seed, std::size_t members = kMembers) {
  TestGossipOptions options;
  options.seed = seed;
  options.gossip.topology = random_regular(6, seed);
  options.gossip.start_members = members;
  options.gossip.deadline = milliseconds(200);
  options.gossip.last_round = Round(1000);
  return options;
}

// Everybody pulls to its own place; the group settles around the mean of those that are there.
float place(std::size_t member) { return static_cast<float>(member % 21) - 10; }

TestGossipNetwork::Update pull() {
  return [](std::size_t member, Round, std::span<const float> before, std::span<float> mixed) {
    for (std::size_t k = 0; k < mixed.size(); ++k) mixed[k] -= 0.05F * (before[k] - place(member));
  };
}

void gather(TestGossipNetwork& network, std::size_t members = kMembers) {
  for (std::size_t i = 0; i < members; ++i) {
    network.add(std::vector<float>(kElements, 0.0F), false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
}

// Kills `dying` of the first members, each second one without a word, while as many newcomers
// arrive.
void churn(TestGossipNetwork& network, std::size_t dying, std::uint64_t seed) {
  Rng rng(seed, 1);
  const std::size_t members = network.size();
  for (std::size_t i = 0; i < dying; ++i) {
    std::size_t victim = rng.below(members);
    while (!network.member(victim).running) victim = (victim + 1) % members;
    network.crash(victim, i % 2 == 0);
    std::vector<std::size_t> dial;
    while (dial.size() < 3) {
      const std::size_t sponsor = rng.below(members);
      if (network.member(sponsor).running) dial.push_back(sponsor);
    }
    network.add(std::vector<float>(kElements, 1e6F), true, dial);
    const TimePoint until = network.now() + milliseconds(40);
    ASSERT_FALSE(network.run_until([&] { return network.now() >= until; }, milliseconds(39)));
  }
}

Round highest_round(TestGossipNetwork& network) {
  Round highest;
  for (std::size_t i = 0; i < network.size(); ++i) {
    if (network.member(i).running) highest = std::max(highest, network.member(i).core->round());
  }
  return highest;
}

// Three in ten of the members die while as many come.
void expect_nobody_stops(std::size_t members) {
  TestGossipOptions options = churn_options(3, members);
  TestGossipNetwork network(options, pull());
  gather(network, members);
  ASSERT_TRUE(network.run_rounds(Round(10), minutes(5)));
  churn(network, members * 3 / 10, 3);
  const Round goal(highest_round(network).value() + 30);
  ASSERT_TRUE(network.run_rounds(goal, minutes(5)));

  double mean = 0;
  double square = 0;
  std::size_t running = 0;
  const Duration longest = options.compute_min + options.compute_spread + options.gossip.deadline;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const TestGossipNetwork::Member& member = network.member(i);
    if (!member.running) continue;
    ++running;
    EXPECT_LE(member.longest_pause, options.gossip.deadline + milliseconds(1)) << i;
    EXPECT_LE(member.longest_gap, longest + milliseconds(1)) << i;
    EXPECT_GE(member.mixes.back().mixed, 2U) << i;
    EXPECT_LE(member.core->members(), network.size()) << i;
    mean += member.values[0];
    square += member.values[0] * member.values[0];
  }
  EXPECT_EQ(running, members);
  mean /= static_cast<double>(running);
  // Newcomers began a million away: all stand around the mean of the places now.
  EXPECT_LT(std::abs(mean), 2);
  EXPECT_LT(square / static_cast<double>(running) - mean * mean, 25);
}

TEST(GossipChurn, AThirdDiesAndAsManyComeAndNobodyStops) { expect_nobody_stops(kMembers); }
// Under AddressSanitizer, which leaves out the larger ones.
TEST(GossipChurn, NorDoFortyTwoOfThem) { expect_nobody_stops(42); }

TEST(GossipChurn, GoesOnWhereFramesAreLostAndOvertakeEachOther) {
  TestGossipOptions options = churn_options(4);
  options.reorder = true;
  // A lost book may leave somebody waiting for members that are there.
  options.gossip.start_timeout = std::chrono::seconds(2);
  options.lost_frames = 0.01;
  options.broken_links = 0.002;
  TestGossipNetwork network(options, pull());
  gather(network);
  ASSERT_TRUE(network.run_rounds(Round(40), minutes(5)));
  std::size_t mixed = 0;
  std::size_t degree = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    EXPECT_LE(network.member(i).longest_pause, options.gossip.deadline + milliseconds(1));
    EXPECT_EQ(network.member(i).closed_corrupt, 0U);
    for (const GossipMix& mix : network.member(i).mixes) {
      mixed += mix.mixed;
      degree += mix.degree;
    }
  }
  EXPECT_GT(mixed, degree * 8 / 10);
}

TEST(GossipChurn, TheSameSeedGivesTheSameEventsAndAnotherSeedOthers) {
  std::set<Hash128> hashes;
  for (const std::uint64_t seed : {6, 6, 7}) {
    TestGossipOptions options = churn_options(seed);
    options.lost_frames = 0.005;
    TestGossipNetwork network(options, pull());
    gather(network);
    ASSERT_TRUE(network.run_rounds(Round(6), minutes(5)));
    churn(network, 10, seed);
    ASSERT_TRUE(network.run_rounds(Round(20), minutes(5)));
    hashes.insert(network.event_hash());
  }
  EXPECT_EQ(hashes.size(), 2U);
}

}  // namespace
}  // namespace weft::gossip_churn_test
