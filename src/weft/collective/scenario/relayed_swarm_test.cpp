// Swarms of which most members stand behind routers: links come about through others, and move when
// a relay goes.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::relayed_swarm_test {
namespace {

constexpr std::uint64_t kRounds = 120;

class RelayedSwarm : public testing::TestWithParam<std::uint64_t> {
 protected:
  SwarmPeer& add(std::uint32_t number, SimNat nat) {
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = GetParam() * 100 + number;
    SwarmPeer& peer = *peers_.emplace_back(
        std::make_unique<SwarmPeer>(net_, peer_options(), std::move(settings)));
    net_.set_nat(peer.id, nat);
    return peer;
  }
  static SwarmCoreOptions peer_options() {
    SwarmCoreOptions options = swarm_options(kRounds);
    options.start_members = 5;
    return options;
  }
  template <class Done>
  bool run(Done done) {
    const TimePoint end = net_.now() + std::chrono::seconds(240);
    while (!done() && net_.now() < end && net_.step()) {
    }
    return done();
  }
  // Two in the open, three behind routers of both kinds, all members.
  void start() {
    add(0, SimNat::kNone).found();
    add(1, SimNat::kNone).join(peers_[0]->ticket());
    add(2, SimNat::kCone).join(peers_[0]->ticket());
    add(3, SimNat::kSymmetric).join(peers_[0]->ticket());
    add(4, SimNat::kSymmetric).join(peers_[0]->ticket());
    ASSERT_TRUE(run([&] { return peers_[1]->round().value() >= 10; }));
    for (const auto& peer : peers_) EXPECT_EQ(peer->core->view().size(), 5);
  }
  void expect_all_finish() {
    const bool finished = run([&] {
      return std::ranges::all_of(peers_,
                                 [](const auto& peer) { return !*peer->alive || peer->finished; });
    });
    for (const auto& peer : peers_) {
      if (!*peer->alive) continue;
      EXPECT_TRUE(finished) << peer->describe();
      EXPECT_EQ(peer->round(), Round(kRounds));
      EXPECT_EQ(peer->trainer.hash().total, peers_[1]->trainer.hash().total);
      EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
    }
  }
  int links_by(const SwarmPeer& peer, const std::string& path) const {
    return static_cast<int>(std::ranges::count_if(peer.events, [&](const SwarmEvent& event) {
      return event.kind == SwarmEventKind::kLinkUp && event.link.path == path;
    }));
  }

  SimNetwork net_{SimNetworkOptions{.seed = GetParam()}};
  std::vector<std::unique_ptr<SwarmPeer>> peers_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, RelayedSwarm, testing::Range<std::uint64_t>(1, 13));

TEST_P(RelayedSwarm, TrainsToTheEnd) {
  start();
  EXPECT_GE(links_by(*peers_[3], "relayed"), 2) << "to the cone, and to the other symmetric one";
  EXPECT_EQ(links_by(*peers_[0], "relayed"), 0);
  expect_all_finish();
  for (const auto& peer : peers_) EXPECT_FALSE(peer->saw(SwarmEventKind::kPeerLeft));
}

TEST_P(RelayedSwarm, SurvivesTheDeathOfARelay) {
  start();
  peers_[0]->crash(SimCrash::kPowerLoss);
  expect_all_finish();
  for (std::size_t i = 1; i < peers_.size(); ++i) {
    EXPECT_TRUE(peers_[i]->finished) << peers_[i]->describe();
  }
}

}  // namespace
}  // namespace weft::relayed_swarm_test
