#include "weft/sim/gossip_world.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "weft/gossip/topology/topology_def.h"
#include "weft/sim/test_world_runs.h"
#include "weft/train/recipe/test_recipe.h"
#include "weft/train/step/gossip_step.h"

namespace weft::sim::gossip_world_test {
namespace {

Recipe gossip_recipe(std::int64_t steps) {
  Recipe recipe = small_recipe();
  recipe.run.steps = steps;
  recipe.group.exchange = "gossip";
  recipe.gossip.topology = "ring";
  return recipe;
}

std::unique_ptr<World> world_of(const Recipe& recipe, const WorldOptions& options,
                                const WorldEvents& events = {}) {
  auto world = make_world(recipe, {}, options, events);
  EXPECT_TRUE(world.ok()) << world.status().message();
  return std::move(world).value();
}

WorldOptions unequal_world() {
  WorldOptions options;
  options.peers = 12;
  options.samples_per_second = {{200, 2000}, true};
  options.links.megabits = {{10, 100}, false};
  options.links.latency_ms = {{2, 40}, true};
  options.crashes = {{std::nullopt, {{3}, false}}, {std::nullopt, {{4}, false}}};
  options.joins = {{{3.5}, false}};
  return options;
}

TEST(GossipWorld, ThreePeersOfARingTakeTheStepsOfDPsgd) {
  constexpr int kPeers = 3;
  constexpr int kRounds = 5;
  WorldOptions options;
  options.peers = kPeers;
  const Recipe recipe = gossip_recipe(kRounds);
  const auto world = world_of(recipe, options);
  const WorldResult result = world->run();
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.finished, kPeers);
  EXPECT_EQ(result.rounds, Round(kRounds));

  // The same with a Trainer for each: in a ring of three all are neighbours, each weight is 1/3.
  const auto& gossip = dynamic_cast<const GossipWorld&>(*world);
  const SystemClock clock;
  std::vector<std::unique_ptr<Trainer>> alone;
  alone.reserve(kPeers);
  for (int i = 0; i < kPeers; ++i) {
    alone.push_back(std::move(Trainer::make(recipe, {}, clock)).value());
  }
  for (int step = 0; step < kRounds; ++step) {
    std::vector<float> mean(static_cast<std::size_t>(alone[0]->layout().num_elements()));
    std::vector<std::vector<float>> before;
    for (const auto& trainer : alone) {
      const std::span<const float> values = std::as_const(trainer->arena()).parameters();
      before.emplace_back(values.begin(), values.end());
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += values[i] / kPeers;
    }
    for (std::size_t i = 0; i < alone.size(); ++i) {
      const PeerId& id = gossip.member(i).id();
      ASSERT_TRUE(gossip_gradient(alone[i]->parts(), id, step).ok());
      apply_gossip(alone[i]->parts(), step, std::as_const(alone[i]->arena()).gradients(), before[i],
                   mean);
    }
  }
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const std::span<const float> expected = std::as_const(alone[i]->arena()).parameters();
    const std::vector<float>& got = gossip.member(i).parameters();
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) ASSERT_NEAR(got[k], expected[k], 1e-5) << k;
  }
}

TEST(GossipWorld, TheSameSeedHasTheSameEventsWhateverTheThreads) {
  const std::uint64_t hash =
      expect_same_events([] { return world_of(gossip_recipe(40), unequal_world())->run(); });
  WorldOptions other = unequal_world();
  other.seed = 2;
  EXPECT_NE(world_of(gossip_recipe(40), other)->run().event_hash, hash);
}

TEST(GossipWorld, PeersGoOnWhenOthersCrashAndJoin) {
  std::set<std::uint64_t> shown;
  WorldEvents events;
  events.on_round = [&](const WorldRound& round) { shown.insert(round.round.value()); };
  const WorldResult result = world_of(gossip_recipe(60), unequal_world(), events)->run();
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.crashed, 2);
  EXPECT_EQ(result.finished, 11);
  EXPECT_EQ(result.failed, 0);
  EXPECT_EQ(result.rounds, Round(60));
  EXPECT_EQ(shown.size(), 60U);
  ASSERT_TRUE(result.mean_model.has_value());
  EXPECT_GT(result.mean_model->accuracy(), 0.9);
}

TEST(GossipWorld, BytesAreThoseOfTwoNeighbours) {
  WorldOptions options;
  options.peers = 8;
  const auto world = world_of(gossip_recipe(20), options);
  const WorldResult result = world->run();
  // Each sends its parameters to both neighbours in each round; in the first ones not all have the
  // same ring yet.
  const auto vector = static_cast<double>(world->trainer().layout().num_elements()) * 4;
  const double least = 20.0 * 8 * 2 * vector;
  EXPECT_GE(static_cast<double>(result.bytes_sent), 0.95 * least);
  EXPECT_LE(static_cast<double>(result.bytes_sent), 1.25 * least);
}

TEST(GossipWorld, PeersTrainInEveryTopology) {
  for (const TopologyDef* def : topologies()) {
    Recipe recipe = gossip_recipe(40);
    recipe.gossip.topology = def->name;
    WorldOptions options;
    options.peers = 9;
    options.crashes = {{std::nullopt, {{1}, false}}};
    const WorldResult result = world_of(recipe, options)->run();
    EXPECT_EQ(result.fault, "") << def->name;
    EXPECT_EQ(result.finished, 8) << def->name;
    EXPECT_EQ(result.rounds, Round(40)) << def->name;
    ASSERT_TRUE(result.distance.has_value()) << def->name;
    EXPECT_LT(*result.distance, 0.5) << def->name;
    ASSERT_TRUE(result.mean_model.has_value()) << def->name;
    EXPECT_GT(result.mean_model->accuracy(), 0.9) << def->name;
  }
}

TEST(GossipWorld, PeersHaveTheIdsOfTheGivenKeys) {
  WorldOptions options;
  options.peers = 3;
  options.keys = {PublicKey{1}, PublicKey{2}};
  const auto world = world_of(gossip_recipe(2), options);
  const WorldResult result = world->run();
  ASSERT_EQ(result.members.size(), 3U);
  EXPECT_EQ(result.members[0].id, peer_id_of(PublicKey{1}));
  EXPECT_EQ(result.members[1].id, peer_id_of(PublicKey{2}));
  EXPECT_NE(result.members[0].state, result.members[1].state);
  ASSERT_TRUE(result.distance.has_value());
  EXPECT_GT(*result.distance, 0.0);
  EXPECT_LT(*result.distance, 0.5);

  // The state of members that agree does not depend on ids: nothing could be pinned by them.
  Recipe exact = gossip_recipe(2);
  exact.group.exchange = "exact";
  const auto refused = make_world(exact, {}, options, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("--identity"), std::string::npos);
}

TEST(GossipWorld, LocalStepsAreRefusedByName) {
  Recipe recipe = gossip_recipe(20);
  recipe.local.steps = 4;
  const auto world = make_world(recipe, {}, {}, {});
  ASSERT_FALSE(world.ok());
  EXPECT_NE(world.status().message().find("local.steps"), std::string::npos);
}

// One of eight sends its parameters with the other sign.
TEST(GossipWorld, LiesSpreadToTheHonestPeers) {
  const auto distance_with = [](int liars) {
    WorldOptions options;
    options.peers = 8;
    if (liars > 0) options.liars = *parse_liars("sign_flip", liars, options.peers);
    const WorldResult result = world_of(gossip_recipe(10), options)->run();
    EXPECT_EQ(result.fault, "");
    EXPECT_EQ(result.finished, options.peers);
    return result.distance.value_or(0);
  };
  EXPECT_GT(distance_with(1), 2 * distance_with(0));
}

TEST(GossipWorld, ANewPeerComesWhereATraceBringsOneBack) {
  WorldOptions options;
  options.peers = 6;
  options.trace = {{0.5, 2, false}, {1.6, 2, true}};
  std::vector<std::string> news;
  WorldEvents events;
  events.on_news = [&](const std::string& text) { news.push_back(text); };
  const auto world = make_world(gossip_recipe(200), {}, options, events);
  ASSERT_TRUE(world.ok()) << world.status().message();
  const WorldResult result = (*world)->run();
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.finished, 6);
  ASSERT_EQ(news.size(), 2U);
  EXPECT_EQ(news[0], "peer 2 crashes");
  EXPECT_EQ(news[1], "peer 6 joins");
}

TEST(GossipWorld, MorePeersThanABookHoldsAreRefused) {
  WorldOptions options;
  options.peers = 5000;
  const auto world = make_world(gossip_recipe(2), {}, options, {});
  ASSERT_FALSE(world.ok());
  EXPECT_NE(world.status().message().find("--peers: expected at most 4096"), std::string::npos);
}

}  // namespace
}  // namespace weft::sim::gossip_world_test
