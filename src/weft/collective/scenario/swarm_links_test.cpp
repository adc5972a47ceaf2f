// Whole swarms on unequal links: the members agree on an order of the ring that avoids slow ones.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/scenario/test_swarm_peer.h"

namespace weft::swarm_links_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kMembers = 6;
constexpr std::uint64_t kRate = 1'250'000;
constexpr std::size_t kElements = 32 * 1024;
// What one round takes if no link is slow.
constexpr double kRoundSeconds = 2.0 * (kMembers - 1) / kMembers * kElements * 4 / kRate;

class SwarmLinksTest : public ::testing::Test {
 public:
  void start(bool measured, std::uint64_t seed, Duration delay = microseconds(100)) {
    SimNetworkOptions network;
    network.delay_min = delay;
    network.delay_mean = delay + microseconds(300);
    network.seed = seed;
    network.bytes_per_second = kRate;
    net = std::make_unique<SimNetwork>(network);
    SwarmCoreOptions options = swarm_options(0);
    options.start_members = kMembers;
    options.rounds.all_reduce.segment_bytes = 4096;
    options.rounds.all_reduce.bucket_bytes = 1 << 20;
    options.links.enabled = measured;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
      SwarmPeer::Settings settings;
      settings.id = swarm_peer_id(i);
      settings.seed = seed * 100 + i;
      settings.elements = kElements;
      settings.compute = [] { return milliseconds(1); };
      peers.push_back(std::make_unique<SwarmPeer>(*net, options, std::move(settings)));
      if (i == 0) {
        peers[0]->found();
      } else {
        peers[i]->join(peers[0]->ticket());
      }
    }
    ASSERT_TRUE(run([&] { return view().size() == kMembers; }, seconds(30)));
  }
  ~SwarmLinksTest() override {
    for (auto& peer : peers) peer->crash(SimCrash::kKilled);
  }

  const View& view() const { return peers[0]->core->view(); }
  template <class Done>
  bool run(Done&& done, Duration limit) {
    const TimePoint end = net->now() + limit;
    while (!done()) {
      if (net->now() > end || !net->step()) return done();
    }
    return true;
  }
  bool run_rounds(std::uint64_t count) {
    const std::uint64_t last = peers[0]->round().value() + count;
    return run([&] { return peers[0]->round().value() >= last; }, seconds(3600));
  }
  double seconds_a_round(std::uint64_t count) {
    const TimePoint begun = net->now();
    EXPECT_TRUE(run_rounds(count));
    return to_seconds(net->now() - begun) / static_cast<double>(count);
  }
  void make_slow(int a, int b) {
    const auto id = [&](int rank) { return view().members[static_cast<std::size_t>(rank)].id; };
    net->set_rate(id(a), id(b), kRate / 10);
    net->set_rate(id(b), id(a), kRate / 10);
    slow.push_back({id(a), id(b)});
  }
  bool uses_slow_links() const {
    for (int rank = 0; rank < view().size(); ++rank) {
      const PeerId& from = view().members[static_cast<std::size_t>(rank)].id;
      const PeerId& to = view().members[static_cast<std::size_t>((rank + 1) % view().size())].id;
      for (const auto& [a, b] : slow) {
        if ((from == a && to == b) || (from == b && to == a)) return true;
      }
    }
    return false;
  }
  int proposals() const {
    int count = 0;
    for (const auto& peer : peers) {
      for (const SwarmEvent& event : peer->events) {
        if (event.kind == SwarmEventKind::kRingProposed) ++count;
      }
    }
    return count;
  }

  std::unique_ptr<SimNetwork> net;
  std::vector<std::unique_ptr<SwarmPeer>> peers;
  std::vector<std::pair<PeerId, PeerId>> slow;
};

TEST_F(SwarmLinksTest, TheMembersAgreeOnAnOrderWithoutSlowLines) {
  start(true, 1);
  make_slow(0, 1);
  make_slow(3, 4);
  ASSERT_TRUE(uses_slow_links());
  const View before = view();
  const std::uint64_t changes = view().id.number.value();
  ASSERT_TRUE(run([&] { return !uses_slow_links(); }, seconds(600)));
  EXPECT_EQ(proposals(), 1);
  ASSERT_TRUE(run_rounds(2));
  for (const auto& peer : peers) {
    EXPECT_EQ(peer->core->view(), view());
    EXPECT_TRUE(peer->failure.ok());
    EXPECT_LE(peer->core->status().rounds_rerun, 1U);
  }
  EXPECT_EQ(view().id.number.value(), changes + 1);
  EXPECT_EQ(view().size(), before.size());
  EXPECT_LT(seconds_a_round(10), 1.3 * kRoundSeconds);
  // All hold the state that one machine alone would have.
  for (const auto& peer : peers) {
    EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
    EXPECT_EQ(peer->core->view().members, view().members);
  }
  // That was it: later measurements do not change it back and forth.
  ASSERT_TRUE(run_rounds(60));
  EXPECT_EQ(proposals(), 1);
  EXPECT_EQ(view().id.number.value(), changes + 1);
  // Who remains keeps the order.
  std::vector<Member> rest = view().members;
  const PeerId gone = rest[2].id;
  rest.erase(rest.begin() + 2);
  for (auto& peer : peers) {
    if (peer->id == gone) peer->crash(SimCrash::kKilled);
  }
  const SwarmPeer& other = peers[0]->id == gone ? *peers[1] : *peers[0];
  ASSERT_TRUE(run([&] { return other.core->view().size() == kMembers - 1; }, seconds(30)));
  EXPECT_EQ(other.core->view().members, rest);
}

// Where the slow links are is drawn: to the ring as it came about that is a random order.
TEST_F(SwarmLinksTest, IsMuchFasterThanRandomOrders) {
  const std::vector<std::pair<std::pair<int, int>, std::pair<int, int>>> draws = {
      {{0, 1}, {2, 5}}, {{0, 2}, {1, 4}}, {{2, 3}, {3, 4}},
      {{0, 5}, {1, 3}}, {{1, 5}, {2, 4}}, {{4, 5}, {0, 3}}};
  double random = 0;
  double agreed = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    for (const bool measured : {false, true}) {
      for (auto& peer : peers) peer->crash(SimCrash::kKilled);
      peers.clear();
      slow.clear();
      start(measured, 10 + i);
      make_slow(draws[i].first.first, draws[i].first.second);
      make_slow(draws[i].second.first, draws[i].second.second);
      if (measured) {
        ASSERT_TRUE(run([&] { return !uses_slow_links(); }, seconds(600)));
        ASSERT_TRUE(run_rounds(2));
      }
      (measured ? agreed : random) += seconds_a_round(4);
    }
  }
  EXPECT_GT(random, 1.5 * agreed);
  RecordProperty("random_s", std::to_string(random / static_cast<double>(draws.size())));
  RecordProperty("agreed_s", std::to_string(agreed / static_cast<double>(draws.size())));
}

// Ten hops round the ring, each of 60 ms, against two of a butterfly.
TEST_F(SwarmLinksTest, TheMembersAgreeOnAnotherWayWhereLinesAreLong) {
  start(true, 5, milliseconds(60));
  const double before = seconds_a_round(4);
  ASSERT_FALSE(view().links.known());
  ASSERT_TRUE(run([&] { return view().links.known(); }, seconds(600)));
  ASSERT_TRUE(run_rounds(2));
  EXPECT_EQ(proposals(), 1);
  EXPECT_NEAR(view().links.rate.value() / kRate, 1, 0.1);
  EXPECT_LT(seconds_a_round(10), 0.75 * before);
  ASSERT_TRUE(run_rounds(60));
  EXPECT_EQ(proposals(), 1);
  for (const auto& peer : peers) {
    EXPECT_TRUE(peer->failure.ok());
    EXPECT_EQ(peer->core->view(), view());
    EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
  }
}

TEST_F(SwarmLinksTest, EqualLinesChangeNothing) {
  start(true, 3);
  const std::uint64_t changes = view().id.number.value();
  ASSERT_TRUE(run_rounds(100));
  EXPECT_EQ(proposals(), 0);
  EXPECT_EQ(view().id.number.value(), changes);
}

}  // namespace
}  // namespace weft::swarm_links_test
