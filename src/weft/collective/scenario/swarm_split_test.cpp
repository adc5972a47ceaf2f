// Swarms that are cut apart: what each side does meanwhile, and what they are afterwards.
#include <algorithm>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "weft/collective/core/swarm_core.h"
#include "weft/collective/scenario/test_swarm.h"

namespace weft::swarm_split_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct SplitWorld final : TestSwarm {
  SplitWorld(std::uint64_t seed, std::uint64_t last_round, SplitPolicy policy)
      : TestSwarm(seed, last_round), rng(seed) {
    elements = 700;
    compute = milliseconds(25);
    options.membership.quorum_timeout = seconds(1);
    options.membership.on_split = policy;
    options.membership.split_after = seconds(1);
    options.membership.merge_timeout = seconds(10);
    options.membership.joins_at_once = 3;
    options.samples_a_round = TestTrainer::kGlobalBatch;
  }

  void cut(std::size_t first_side) {
    std::vector<std::vector<PeerId>> sides(2);
    for (std::size_t i = 0; i < peers.size(); ++i) {
      sides[i < first_side ? 0 : 1].push_back(peers[i]->id);
    }
    net.partition(sides);
  }
  template <class Done>
  bool run(Done&& done, Duration limit = seconds(120)) {
    const bool there = TestSwarm::run(std::forward<Done>(done), limit);
    if (!there) describe();
    return there;
  }
  bool one_view() const {
    const View& view = peers[0]->core->view();
    return std::ranges::all_of(peers, [&](const auto& peer) {
      return peer->core->state() == MembershipState::kMember && peer->core->view().id == view.id &&
             !view.yields_to && view.size() == static_cast<int>(peers.size());
    });
  }
  bool finished() const {
    return std::ranges::all_of(
        peers, [](const auto& peer) { return peer->finished || !peer->failure.ok(); });
  }
  void expect_one_state(const std::vector<float>& want) const {
    for (const auto& peer : peers) {
      SCOPED_TRACE(peer->describe());
      EXPECT_TRUE(peer->failure.ok());
      EXPECT_TRUE(peer->finished);
      EXPECT_EQ(peer->round(), options.last_round);
      EXPECT_FALSE(peer->saw(SwarmEventKind::kStateMismatch));
      EXPECT_EQ(peer->trainer.state(), want);
    }
  }
  static const SwarmEvent& last_of(const SwarmPeer& peer, SwarmEventKind kind) {
    const SwarmEvent* found = nullptr;
    for (const SwarmEvent& event : peer.events) {
      if (event.kind == kind) found = &event;
    }
    WEFT_CHECK(found != nullptr);
    return *found;
  }

  Rng rng;
};

TEST(SwarmSplit, BothSidesTrainOnAndBecomeTheMeanOfBothBySamples) {
  SplitWorld world(1, 500, SplitPolicy::kMerge);
  world.start(5);
  ASSERT_TRUE(world.run_to_round(0, 40));
  world.cut(3);
  ASSERT_TRUE(world.run([&] { return world.peers[3]->saw(SwarmEventKind::kSplit); }));
  const std::uint64_t parted =
      SplitWorld::last_of(*world.peers[3], SwarmEventKind::kSplit).round.value();
  ASSERT_TRUE(world.run_to_round(3, parted + 60));
  ASSERT_TRUE(world.run_to_round(4, parted + 60));
  EXPECT_GT(world.peers[0]->round().value(), parted + 60) << "the majority did not wait";
  EXPECT_EQ(world.peers[0]->core->view().size(), 3);
  EXPECT_EQ(world.peers[4]->core->view().size(), 2);

  world.net.unblock_all();
  ASSERT_TRUE(world.run([&] { return world.one_view(); }));
  const std::uint64_t theirs =
      SplitWorld::last_of(*world.peers[3], SwarmEventKind::kYielding).round.value();
  const SwarmEvent& merged = SplitWorld::last_of(*world.peers[0], SwarmEventKind::kMerged);
  const std::uint64_t own = merged.round.value();
  constexpr std::uint64_t kBatch = TestTrainer::kGlobalBatch;
  EXPECT_EQ(merged.merge.samples, (theirs - parted) * kBatch);
  EXPECT_EQ(merged.merge.own_samples, (own - parted) * kBatch);
  EXPECT_DOUBLE_EQ(merged.merge.weight, static_cast<double>(theirs - parted) /
                                            static_cast<double>(theirs - parted + own - parted));
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(world.peers[i]->merges.size(), 1U) << i;
    EXPECT_EQ(world.peers[i]->merges[0].first, own);
  }
  EXPECT_TRUE(world.peers[3]->merges.empty());

  ASSERT_TRUE(world.run([&] { return world.finished(); }));
  // In the test's training a round's result does not depend on who took part.
  TestTrainer want = trained(world.elements, own);
  const std::vector<float> before = want.state();
  const TestTrainer other = trained(world.elements, theirs);
  ASSERT_TRUE(want.merge(other.serialise(), merged.merge.weight).ok());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double mean =
        (static_cast<double>(before[i]) * static_cast<double>(own - parted) +
         static_cast<double>(other.state()[i]) * static_cast<double>(theirs - parted)) /
        static_cast<double>(own - parted + theirs - parted);
    ASSERT_NEAR(want.state()[i], mean, 1e-3);
  }
  while (want.round() < 500) want.apply(want.shard(0, 1));
  world.expect_one_state(want.state());
}

TEST(SwarmSplit, TheSmallerSideWaitsAndComesBackWhereTheRunPauses) {
  SplitWorld world(2, 400, SplitPolicy::kPause);
  world.start(5);
  ASSERT_TRUE(world.run_to_round(0, 40));
  world.cut(3);
  ASSERT_TRUE(world.run([&] { return world.peers[3]->saw(SwarmEventKind::kQuorumLost); }));
  const Round stood = world.peers[3]->round();
  ASSERT_TRUE(world.run_to_round(0, 200));
  EXPECT_EQ(world.peers[3]->round(), stood);
  EXPECT_EQ(world.peers[4]->round(), stood);
  world.net.unblock_all();
  ASSERT_TRUE(world.run([&] { return world.one_view(); }));
  ASSERT_TRUE(world.run([&] { return world.finished(); }));
  world.expect_one_state(trained(world.elements, 400).state());
  EXPECT_FALSE(world.peers[3]->saw(SwarmEventKind::kSplit));
}

// A newcomer that takes the state while the branches become one gets it from after that.
TEST(SwarmSplit, ANewcomerMeanwhileEndsWithTheStateOfTheOthers) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SplitWorld world(seed, 500, SplitPolicy::kMerge);
    world.start(4);
    ASSERT_TRUE(world.run_to_round(0, 20));
    world.cut(2);
    ASSERT_TRUE(world.run([&] {
      return world.peers[0]->saw(SwarmEventKind::kSplit) &&
             world.peers[2]->saw(SwarmEventKind::kSplit);
    })) << "without a majority either side is a branch";
    ASSERT_TRUE(world.run_to_round(0, 60));
    world.net.unblock_all();
    ASSERT_TRUE(world.run([&] {
      return world.peers[0]->saw(SwarmEventKind::kYielding) ||
             world.peers[2]->saw(SwarmEventKind::kYielding);
    }));
    world.net.run_until(world.net.now() + milliseconds(40 * seed));
    const std::size_t sponsor = world.peers[0]->saw(SwarmEventKind::kYielding) ? 2 : 0;
    world.add().join(world.peers[sponsor]->ticket());
    ASSERT_TRUE(world.run([&] { return world.one_view(); }));
    ASSERT_TRUE(world.run([&] { return world.finished(); }));
    world.expect_one_state(world.peers[0]->trainer.state());
  }
}

// Cuts drawn from a seed, one after the other, into two or three parts; in the end all are one.
TEST(SwarmSplit, WhateverTheCutsAllEndInOneViewWithOneState) {
  int merges = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SplitWorld world(seed, 1200, SplitPolicy::kMerge);
    world.elements = 60;
    const int members = 3 + static_cast<int>(world.rng.below(4));
    world.start(members);
    ASSERT_TRUE(world.run_to_round(0, 5));
    for (int i = 0; i < 3; ++i) {
      std::vector<std::vector<PeerId>> sides(2 + world.rng.below(2));
      for (const auto& peer : world.peers) {
        sides[world.rng.below(sides.size())].push_back(peer->id);
      }
      world.net.partition(sides);
      world.net.run_until(world.net.now() + milliseconds(500 + world.rng.below(8000)));
      world.net.unblock_all();
      world.net.run_until(world.net.now() + milliseconds(100 + world.rng.below(6000)));
    }
    ASSERT_TRUE(world.run([&] { return world.one_view(); }));
    ASSERT_TRUE(world.run([&] { return world.finished(); }, seconds(300)));
    for (const auto& peer : world.peers) merges += static_cast<int>(peer->merges.size());
    world.expect_one_state(world.peers[0]->trainer.state());
  }
  EXPECT_GT(merges, 12);
}

}  // namespace
}  // namespace weft::swarm_split_test
