#include "weft/collective/link/hosts.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::hosts_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

View view_at(const std::vector<std::vector<std::string>>& endpoints) {
  View view;
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    view.members.push_back({swarm_peer_id(static_cast<std::uint32_t>(i)), 1, endpoints[i]});
  }
  return view;
}

TEST(Hosts, MembersOfTheSameAddressesShareOneWhateverTheirPorts) {
  EXPECT_THAT(hosts_of(view_at({{"10.0.0.1:7", "[fd00::1]:7"},
                                {"10.0.0.2:7", "[fd00::2]:7"},
                                {"[fd00::1]:9", "10.0.0.1:8"},
                                {"10.0.0.3:7"}})),
              ElementsAre(0, 1, 0, 2));
}

TEST(Hosts, OneAddressInCommonIsNotEnough) {
  // Two machines behind one router.
  EXPECT_THAT(hosts_of(view_at({{"203.0.113.5:1000", "192.168.1.5:7"},
                                {"203.0.113.5:1001", "192.168.1.6:7"},
                                {"203.0.113.5:1002", "192.168.1.6:8"}})),
              ElementsAre(0, 1, 1));
}

TEST(Hosts, NothingIsSaidWhereItIsOfNoUse) {
  EXPECT_THAT(hosts_of(view_at({{"127.0.0.1:1"}, {"127.0.0.1:2"}})), IsEmpty());
  EXPECT_THAT(hosts_of(view_at({{"10.0.0.1:1"}, {"10.0.0.2:1"}})), IsEmpty());
  EXPECT_THAT(hosts_of(view_at({{}, {}, {}})), IsEmpty());
  EXPECT_THAT(hosts_of(view_at({{"10.0.0.1:1"}})), IsEmpty());
}

// Six members on two hosts, of which one is killed and one joins: the hierarchy follows the views.
TEST(Hosts, SwarmsTrainByHostThroughADeathAndAJoin) {
  for (const std::uint64_t seed : TestSeeds(1, 6)) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimNetwork net(SimNetworkOptions{.seed = seed});
    SwarmCoreOptions options = swarm_options(120);
    options.start_members = 6;
    options.rounds.by_host = true;
    if (seed % 2 == 0) {
      options.rounds.all_reduce.precision = WirePrecision::kInt8;
    }
    std::vector<std::unique_ptr<SwarmPeer>> peers;
    const auto add = [&](std::uint32_t number) -> SwarmPeer& {
      SwarmPeer::Settings settings;
      settings.id = swarm_peer_id(number);
      settings.seed = number + 77;
      settings.more_endpoints = {"host-" + std::to_string(number % 2) + ":1"};
      return *peers.emplace_back(std::make_unique<SwarmPeer>(net, options, std::move(settings)));
    };
    const auto run = [&](auto&& done) {
      const TimePoint end = net.now() + std::chrono::seconds(120);
      while (!done() && net.now() < end && net.step()) {
      }
      return done();
    };
    add(0).found();
    for (std::uint32_t i = 1; i < 6; ++i) add(i).join(peers[0]->ticket());
    ASSERT_TRUE(run([&] { return peers[0]->round().value() >= 10; }));
    EXPECT_THAT(hosts_of(peers[0]->core->view()), testing::SizeIs(6));
    peers[2]->crash(SimCrash::kKilled);
    add(8).join(peers[1]->ticket());
    ASSERT_TRUE(run([&] {
      return std::ranges::all_of(peers,
                                 [](const auto& peer) { return !*peer->alive || peer->finished; });
    }));
    const TestTrainer& want = trained(peers[0]->set.elements, 120);
    for (const auto& peer : peers) {
      if (!*peer->alive) continue;
      EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
      EXPECT_EQ(peer->trainer.hash().total, peers[0]->trainer.hash().total);
      if (seed % 2 == 1) {
        EXPECT_EQ(peer->trainer.state(), want.state());
      }
    }
  }
}

}  // namespace
}  // namespace weft::hosts_test
