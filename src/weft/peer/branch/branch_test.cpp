// Branches: sides without a quorum go on, meet, and become one.
#include <algorithm>

#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/wire/branch_message.h"
#include "weft/wire/frame_type.h"

namespace weft::branch_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

MembershipOptions merging(std::uint32_t number, Round founded_at = Round()) {
  MembershipOptions options = test_membership(test_peer_id(number));
  options.founded_at = founded_at;
  options.on_split = SplitPolicy::kMerge;
  options.split_after = seconds(3);
  options.merge_timeout = seconds(20);
  return options;
}

// A peer whose state is nothing but a count of samples: offers it, fetches at once what others
// offer, merges, and joins whoever absorbed it.
class BranchPeer final : public TestPeer {
 public:
  BranchPeer(SimNetwork& network, std::uint32_t number, Round founded_at)
      : TestPeer(network, merging(number, founded_at), 7) {
    status.done = founded_at;
  }

  std::uint64_t samples_after(Round /*round*/) const override { return samples; }
  void on_view(const View& view, const ViewChange& change) override {
    TestPeer::on_view(view, change);
    if (view.merge) samples += view.merge->samples;
    if (view.yields_to) offer_ = sha256(as_bytes(std::to_string(samples)));
  }
  void on_merge_offer(const MergeOffer& told) override {
    offers.push_back(told);
    if (fetches) fetched_ = told.snapshot;
  }
  void on_removed(const Status& why) override {
    TestPeer::on_removed(why);
    rejoin_at = net.now() + milliseconds(200);
  }

  std::uint64_t samples = 100;
  bool fetches = true;
  bool offering = true;
  std::vector<MergeOffer> offers;
  TimePoint rejoin_at = TimePoint::max();

 protected:
  void pump() override {
    if (offer_ && offering) {
      const Hash256 hash = *offer_;
      offer_.reset();
      membership->offer_state(hash, net.now());
    }
    if (fetched_) {
      const Hash256 hash = *fetched_;
      fetched_.reset();
      membership->merge_ready(hash, net.now());
    }
    TestPeer::pump();
  }

 private:
  std::optional<Hash256> offer_;
  std::optional<Hash256> fetched_;
};

class BranchTest : public ::testing::Test {
 protected:
  void form(std::uint32_t count, Round founded_at = Round()) {
    for (std::uint32_t i = 0; i < count; ++i) {
      peers.push_back(std::make_unique<BranchPeer>(net, i, founded_at));
    }
    peer(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(seconds(1));
    }
    for (const auto& each : peers) ASSERT_EQ(each->view().size(), static_cast<int>(count));
    old = peer(0).view();
  }
  BranchPeer& peer(std::size_t i) { return *peers[i]; }
  PeerId id(std::size_t i) { return peers[i]->id; }
  void run(Duration duration) {
    const TimePoint ends = net.now() + duration;
    while (net.now() < ends) {
      net.run_until(std::min(ends, net.now() + milliseconds(50)));
      for (const auto& each : peers) {
        if (net.now() < each->rejoin_at) continue;
        each->rejoin_at = TimePoint::max();
        each->join(each->ticket());
      }
    }
  }
  Hash256 branch(std::size_t i) { return peer(i).view().lineage.branch(); }

  SimNetwork net{SimNetworkOptions{}};
  std::vector<std::unique_ptr<BranchPeer>> peers;
  View old;
};

TEST_F(BranchTest, BothHalvesGoOnAndTheSmallerOneIsAbsorbed) {
  form(4);
  net.partition({{id(0), id(1)}, {id(2), id(3)}});
  run(seconds(20));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
    EXPECT_EQ(peer(i).view().size(), 2) << i;
  }
  EXPECT_EQ(branch(0), branch(1));
  EXPECT_EQ(branch(2), branch(3));
  EXPECT_NE(branch(0), branch(2));
  EXPECT_EQ(peer(0).view().lineage.points.back().from, old.id);
  EXPECT_EQ(peer(0).view().lineage.points.back().samples, 100U);
  // They learn: the first two more than the others.
  for (std::size_t i = 0; i < 4; ++i) peer(i).samples += i < 2 ? 50 : 30;
  net.unblock_all();
  run(seconds(20));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(peer(i).view().size(), 4) << i;
    EXPECT_EQ(branch(i), branch(0)) << i;
  }
  EXPECT_TRUE(peer(2).removed && peer(3).removed);
  EXPECT_FALSE(peer(0).removed || peer(1).removed);
  EXPECT_EQ(peer(0).samples, 180U);
  EXPECT_EQ(peer(1).samples, 180U);
  EXPECT_FALSE(peer(1).offers.empty());
}

TEST_F(BranchTest, TheMergeDirectiveWeighsBySamplesSinceTheyParted) {
  form(4);
  net.partition({{id(0), id(1)}, {id(2), id(3)}});
  run(seconds(20));
  for (std::size_t i = 0; i < 4; ++i) peer(i).samples += i < 2 ? 50 : 30;
  net.unblock_all();
  run(seconds(20));
  const MergeDirective* found = nullptr;
  for (const View& view : peer(0).views) {
    if (view.merge) found = &*view.merge;
  }
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->samples, 30U);
  EXPECT_EQ(found->own_samples, 50U);
  EXPECT_TRUE(std::any_of(peer(1).views.begin(), peer(1).views.end(),
                          [&](const View& view) { return view.merge == *found; }));
}

TEST_F(BranchTest, AMajorityStaysTheRunAndAMinorityBranches) {
  form(5);
  net.partition({{id(0), id(1), id(2)}, {id(3), id(4)}});
  run(seconds(20));
  EXPECT_TRUE(peer(0).view().lineage.points.empty());
  EXPECT_EQ(peer(0).view().size(), 3);
  EXPECT_EQ(peer(3).view().lineage.points.size(), 1U);
  EXPECT_EQ(peer(3).view().id, peer(4).view().id);
  peer(0).samples = peer(1).samples = peer(2).samples = 170;
  peer(3).samples = peer(4).samples = 120;
  net.unblock_all();
  run(seconds(20));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(peer(i).view().size(), 5) << i;
  EXPECT_EQ(peer(0).samples, 190U);
  EXPECT_TRUE(peer(0).view().lineage.points.empty());
  EXPECT_EQ(peer(0).view().lineage.absorbed.size(), 1U);
}

TEST_F(BranchTest, ThreeSidesBecomeOne) {
  form(6);
  net.partition({{id(0), id(1)}, {id(2), id(3)}, {id(4), id(5)}});
  run(seconds(20));
  for (std::size_t i = 0; i < 6; ++i) peer(i).samples += i < 4 ? 10 * (1 + i / 2) : 100;
  net.unblock_all();
  run(seconds(40));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(peer(i).view().size(), 6) << i;
    EXPECT_EQ(branch(i), branch(0)) << i;
  }
  // What the three have learned, once each.
  EXPECT_EQ(peer(4).samples, 230U);
}

TEST_F(BranchTest, WhoHasYetToFetchWhatCameBeforeItsViewFoundsNone) {
  form(4, Round(5));
  peer(2).status.done = peer(3).status.done = Round(4);
  net.partition({{id(0), id(1)}, {id(2), id(3)}});
  run(seconds(20));
  EXPECT_EQ(peer(0).state(), MembershipState::kMember);
  EXPECT_EQ(peer(0).view().size(), 2);
  EXPECT_EQ(peer(2).state(), MembershipState::kIsolated);
  EXPECT_EQ(peer(3).state(), MembershipState::kIsolated);
  peer(3).status.done = Round(5);
  run(seconds(10));
  EXPECT_EQ(peer(2).state(), MembershipState::kMember);
  EXPECT_EQ(branch(2), branch(3));
  EXPECT_NE(branch(2), old.lineage.branch());
}

TEST_F(BranchTest, WithPauseNobodyBranches) {
  TestPeer a(net, test_membership(test_peer_id(100)), 7);
  TestPeer b(net, test_membership(test_peer_id(101)), 7);
  TestPeer c(net, test_membership(test_peer_id(102)), 7);
  a.found();
  b.join(a.ticket());
  net.run_until(net.now() + seconds(2));
  c.join(a.ticket());
  net.run_until(net.now() + seconds(2));
  ASSERT_EQ(c.view().size(), 3);
  net.partition({{a.id}, {b.id}, {c.id}});
  net.run_until(net.now() + seconds(60));
  EXPECT_EQ(a.state(), MembershipState::kIsolated);
  EXPECT_EQ(b.state(), MembershipState::kIsolated);
}

TEST_F(BranchTest, AYieldInVainIsTakenBack) {
  form(4);
  net.partition({{id(0), id(1)}, {id(2), id(3)}});
  run(seconds(20));
  for (std::size_t i = 0; i < 4; ++i) {
    peer(i).samples += i < 2 ? 50 : 30;
    peer(i).fetches = false;
  }
  net.unblock_all();
  run(seconds(15));
  EXPECT_TRUE(peer(2).view().yields_to.has_value());
  net.partition({{id(0), id(1)}, {id(2), id(3)}});
  run(seconds(30));
  EXPECT_EQ(peer(2).state(), MembershipState::kMember);
  EXPECT_FALSE(peer(2).view().yields_to.has_value());
  EXPECT_EQ(peer(2).view().id, peer(3).view().id);
  // The next time it works.
  for (const auto& each : peers) each->fetches = true;
  net.unblock_all();
  run(seconds(40));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(peer(i).view().size(), 4) << i;
  EXPECT_EQ(peer(0).samples, 180U);
}

TEST_F(BranchTest, AStrangersStandingChangesNothing) {
  form(3);
  TestPeer stranger(net, merging(77), 7);
  StandingMessage lie;
  lie.current.value.members = {Member{stranger.id, 1, {net.endpoint(stranger.id)}}};
  lie.current.value.lineage.points = {{Hash256{1}, old.id, 0}};
  lie.samples = UINT64_MAX;
  lie.current.view =
      next_view_id(test_membership(PeerId()).run, lie.current.previous, lie.current.value);
  stranger.connect({id(0), {net.endpoint(id(0))}});
  run(milliseconds(100));
  stranger.send(id(0), Frame{frame_type::kStanding, lie.encode(), {}});
  run(seconds(5));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(peer(i).view(), old) << i;
  EXPECT_EQ(peer(0).membership->role(stranger.id), PeerRole::kStranger);
}

TEST_F(BranchTest, AStandingWhoseHashIsWrongEndsTheLink) {
  form(3);
  StandingMessage lie;
  lie.current.value.members = {Member{id(1), 1, {}}};
  peer(1).send(id(0), Frame{frame_type::kStanding, lie.encode(), {}});
  run(milliseconds(100));
  ASSERT_FALSE(peer(0).closed.empty());
  EXPECT_EQ(peer(0).closed.back().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace weft::branch_test
