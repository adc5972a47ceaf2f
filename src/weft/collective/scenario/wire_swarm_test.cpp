// Swarms whose rounds travel in less than f32: the same state at all members, whatever happens.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::wire_swarm_test {
namespace {

class WireSwarm : public testing::TestWithParam<WirePrecision> {};
INSTANTIATE_TEST_SUITE_P(Precisions, WireSwarm,
                         testing::Values(WirePrecision::kBf16, WirePrecision::kF16,
                                         WirePrecision::kInt8),
                         [](const auto& way) { return std::string(to_string(way.param)); });

// One is killed, one joins; those who are there at the end hold the same bits after each round.
TEST_P(WireSwarm, StatesAreEqualThroughADeathAndAJoin) {
  for (const std::uint64_t seed : TestSeeds(1, 6)) {
    for (const Algorithm algorithm : {Algorithm::kRing, Algorithm::kButterfly}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << to_string(algorithm));
      SimNetwork net(SimNetworkOptions{.seed = seed});
      SwarmCoreOptions options = swarm_options(150);
      options.start_members = 4;
      options.rounds.all_reduce.algorithm = algorithm;
      options.rounds.all_reduce.precision = GetParam();
      std::vector<std::unique_ptr<SwarmPeer>> peers;
      const auto add = [&](std::uint32_t number) -> SwarmPeer& {
        SwarmPeer::Settings settings;
        settings.id = swarm_peer_id(number);
        settings.seed = number + 77;
        return *peers.emplace_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
      };
      const auto run = [&](auto&& done) {
        const TimePoint end = net.now() + std::chrono::seconds(120);
        while (!done() && net.now() < end && net.step()) {
        }
        return done();
      };
      add(0).found();
      for (std::uint32_t i = 1; i < 4; ++i) add(i).join(peers[0]->ticket());
      ASSERT_TRUE(run([&] { return peers[0]->round().value() >= 10; }));
      peers[2]->crash(SimCrash::kPowerLoss);
      add(9).join(peers[1]->ticket());
      ASSERT_TRUE(run([&] {
        return std::ranges::all_of(
            peers, [](const auto& peer) { return !*peer->alive || peer->finished; });
      }));
      for (const auto& peer : peers) {
        if (!*peer->alive) continue;
        EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
        EXPECT_EQ(peer->round(), Round(150));
        EXPECT_EQ(peer->trainer.hash().total, peers[0]->trainer.hash().total);
      }
    }
  }
}

}  // namespace
}  // namespace weft::wire_swarm_test
