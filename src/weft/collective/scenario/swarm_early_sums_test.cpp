// Whole swarms whose members need the sums of one exchange before they can give their part of the
// next, as layers that normalise over all batches do, while members are killed and newcomers join:
// the sums that come early are right, no member waits for ever, and the state is the one that no
// loss can change.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_early_sums_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Small ones, which are exchanged directly, one for a tree, and one that goes round the ring.
const RoundPlan kPlan({{"all", 20}, {"all", 7}, {"all", 60}, {"all", 20}, {"all", 893}});
constexpr std::size_t kElements = 1000;

struct World final : TestSwarm {
  World(std::uint64_t seed, std::uint64_t last_round, bool with_reports)
      : TestSwarm(seed, last_round) {
    elements = kElements;
    run_limit = seconds(240);
    options.rounds.reports = with_reports;
  }
  SwarmPeer::Settings settings_of(std::uint32_t number) override {
    SwarmPeer::Settings settings = TestSwarm::settings_of(number);
    settings.plan = kPlan;
    settings.one_by_one = true;
    settings.on_early_sums = [this, number](std::size_t exchange, std::span<const float> sums) {
      ++early;
      // The shards of all members are the whole batch, however many they are.
      const std::vector<float> all = peers[number]->trainer.shard(0, 1);
      const std::span<const float> want = kPlan.result(all, exchange);
      EXPECT_TRUE(std::ranges::equal(sums, want)) << "exchange " << exchange;
    };
    return settings;
  }

  std::size_t early = 0;
};

void expect_state(const World& world) {
  const TestTrainer& want = trained(kElements, world.options.last_round.value());
  for (const auto& peer : world.peers) {
    if (!*peer->alive || world.missed(*peer)) continue;
    SCOPED_TRACE(peer->describe());
    EXPECT_TRUE(peer->failure.ok());
    EXPECT_EQ(peer->trainer.state(), want.state());
  }
}

TEST(SwarmEarlySums, ComeOnceAllMembersHaveGivenTheirPart) {
  for (const int members : {1, 2, 5}) {
    for (const bool with_reports : {false, true}) {
      World world(3, 12, with_reports);
      world.start(members);
      ASSERT_TRUE(world.run_to_last_round());
      expect_state(world);
      // The sums of the last exchange may come with the end of the round.
      const std::size_t least = 12 * static_cast<std::size_t>(members) * 4;
      EXPECT_GE(world.early, least);
      for (const auto& peer : world.peers) EXPECT_EQ(peer->members_of_turns.size(), 12U);
    }
  }
}

TEST(SwarmEarlySums, ThereAreNoneWithoutSuchAnExchangeOrARound) {
  World world(3, 2, false);
  SwarmPeer& peer = world.add();
  EXPECT_FALSE(peer.core->early_sums(0).has_value());
  peer.found();
  EXPECT_FALSE(peer.core->early_sums(kPlan.exchanges.size()).has_value());
  ASSERT_TRUE(world.run_to_last_round());
  EXPECT_FALSE(peer.core->early_sums(0).has_value());
}

// A member that gives up waiting because the group has changed has its later parts ready when the
// round is run again; a newcomer's first round may be that one.
TEST(SwarmEarlySums, NoMemberWaitsForEverWhenTheGroupChanges) {
  std::size_t reruns = 0;
  int newcomers = 0;
  int kills = 0;
  const TestSeeds seeds(1, 40);
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    World world(seed, 20, seed % 2 == 0);
    world.start(7);  // three may die at once
    ASSERT_TRUE(world.run([&] { return world.peers[0]->round() >= Round(1); }));
    Rng rng(seed);
    kills += world.kill_and_join(rng, milliseconds(60));
    ASSERT_TRUE(world.run_to_last_round());
    expect_state(world);
    for (const auto& peer : world.peers) {
      reruns += peer->saw(SwarmEventKind::kRoundRerun) ? 1U : 0U;
      newcomers += peer->first_trained > 1 ? 1 : 0;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(kills, 0);
  EXPECT_GT(reruns, 0U);
  EXPECT_GT(newcomers, seeds.whole() ? 20 : 0) << "took part";
}

}  // namespace
}  // namespace weft::swarm_early_sums_test
