// Views of more members than keep connections with each other.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::large_view_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMembers = 30;
// The powers of two up to 16, and the distances of three observers, both ways.
constexpr std::size_t kNeighboursMax = 2 * 5 + 2 * 3;

class LargeView : public testing::Test {
 protected:
  LargeView() : net_(SimNetworkOptions{.seed = 11}), options_(swarm_options(50)) {
    options_.rounds.all_reduce.mesh_members = 16;
    options_.start_members = kMembers;
    options_.membership.joins_at_once = kMembers;
    options_.start_timeout = seconds(60);
  }

  SwarmPeer& add(std::uint32_t number, bool drops = false) {
    SwarmPeer::Settings settings;
    settings.id = swarm_peer_id(number);
    settings.seed = number + 77;
    settings.compute = [] { return milliseconds(250); };
    settings.drops_packets = drops;
    return *peers_.emplace_back(std::make_unique<SwarmPeer>(net_, options_, std::move(settings)));
  }
  void start(int dropping = -1) {
    add(0).found();
    for (int i = 1; i < kMembers; ++i) {
      add(static_cast<std::uint32_t>(i), i == dropping).join(peers_[0]->ticket());
    }
  }
  void for_time(Duration time) { net_.run_until(net_.now() + time); }
  bool run_to_round(std::uint64_t round) {
    const TimePoint end = net_.now() + seconds(120);
    while (net_.now() < end && peers_[0]->round().value() < round && net_.step()) {
    }
    return peers_[0]->round().value() >= round;
  }
  std::size_t connected_max() const {
    std::size_t out = 0;
    for (const auto& peer : peers_) {
      if (*peer->alive) out = std::max(out, peer->core->parking().connected);
    }
    return out;
  }
  // All that run reach the last round with the one right state.
  void expect_end() {
    const TimePoint end = net_.now() + seconds(300);
    const auto done = [&] {
      return std::ranges::all_of(peers_, [](const auto& peer) {
        return !*peer->alive || peer->leaving || peer->finished || !peer->failure.ok();
      });
    };
    while (net_.now() < end && !done() && net_.step()) {
    }
    const TestTrainer& want = trained(3000, options_.last_round.value());
    for (const auto& peer : peers_) {
      if (!*peer->alive || peer->leaving) continue;
      SCOPED_TRACE(peer->describe());
      EXPECT_TRUE(peer->finished);
      EXPECT_EQ(peer->trainer.state(), want.state());
    }
  }

  SimNetwork net_;
  SwarmCoreOptions options_;
  std::vector<std::unique_ptr<SwarmPeer>> peers_;
};

TEST_F(LargeView, RoundsNeedConnectionsToAFewMembersOnly) {
  start();
  ASSERT_TRUE(run_to_round(30));
  EXPECT_LE(connected_max(), kNeighboursMax);
  for (const auto& peer : peers_) {
    const ParkingStats links = peer->core->parking();
    EXPECT_EQ(links.connected + links.parked, kMembers - 1U);
    EXPECT_EQ(peer->core->view().size(), kMembers);
    // And no link was seen to go down.
    EXPECT_EQ(peer->core->view().id.number, peers_[0]->core->view().id.number);
  }
  expect_end();
}

TEST_F(LargeView, MembersAreKilledAndComeAndTheViewFollows) {
  start();
  ASSERT_TRUE(run_to_round(20));
  peers_[7]->crash(SimCrash::kKilled);
  peers_[20]->crash(SimCrash::kPowerLoss);
  ASSERT_TRUE(run_to_round(24));
  EXPECT_EQ(peers_[0]->core->view().size(), kMembers - 2);
  add(100).join(peers_[3]->ticket());
  add(101).join(peers_[4]->ticket());
  ASSERT_TRUE(run_to_round(42));
  EXPECT_EQ(peers_[0]->core->view().size(), kMembers);
  EXPECT_LE(connected_max(), kNeighboursMax);
  peers_[25]->leave();
  expect_end();
}

TEST_F(LargeView, AMemberThatForwardsNothingStopsNobody) {
  start(5);
  ASSERT_TRUE(run_to_round(30));
  for (const auto& peer : peers_) EXPECT_EQ(peer->core->view().size(), kMembers);
  peers_[9]->crash(SimCrash::kKilled);
  ASSERT_TRUE(run_to_round(42));
  EXPECT_EQ(peers_[0]->core->view().size(), kMembers - 1);
  expect_end();
}

TEST_F(LargeView, AViewThatBecomesSmallIsAMeshAgain) {
  options_.rounds.all_reduce.mesh_members = kMembers - 2;
  start();
  ASSERT_TRUE(run_to_round(30));
  EXPECT_LE(connected_max(), kNeighboursMax);
  peers_[21]->leave();
  peers_[22]->leave();
  ASSERT_TRUE(run_to_round(42));
  ASSERT_EQ(peers_[0]->core->view().size(), kMembers - 2);
  for (const auto& peer : peers_) {
    if (peer->leaving) continue;
    // A neighbour of those that left may still be connected with them.
    EXPECT_GE(peer->core->parking().connected, kMembers - 3U);
    EXPECT_EQ(peer->core->parking().parked, 0U);
  }
  expect_end();
}

}  // namespace
}  // namespace weft::large_view_test
