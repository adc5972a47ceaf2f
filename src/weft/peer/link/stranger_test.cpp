// Peers that have only a link: how little they get, and that nobody else is kept out by them.
#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/wire/frame_type.h"

namespace weft::stranger_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Writes down the trust that its membership tells the transport, and the frames that come.
class GatePeer final : public TestPeer {
 public:
  using TestPeer::TestPeer;
  void set_trust(const PeerId& peer, LinkTrust trust) override {
    trusts[peer].push_back(trust);
    TestPeer::set_trust(peer, trust);
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    types.push_back(frame.type);
    TestPeer::on_frame(from, lane, frame);
  }
  LinkTrust trust(const PeerId& peer) const {
    const auto told = trusts.find(peer);
    return told == trusts.end() ? LinkTrust::kStranger : told->second.back();
  }

  std::map<PeerId, std::vector<LinkTrust>> trusts;
  std::vector<std::uint8_t> types;
};

class StrangerTest : public ::testing::Test {
 protected:
  GatePeer& add(std::uint32_t number, const StrangerLimits& limits = {}, int joins_at_once = 2) {
    MembershipOptions options = test_membership(test_peer_id(number));
    options.strangers = limits;
    options.joins_at_once = joins_at_once;
    peers.push_back(std::make_unique<GatePeer>(net, std::move(options), number));
    return *peers.back();
  }
  void run(Duration duration) { net.run_until(net.now() + duration); }
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done() && net.now() < end) run(milliseconds(1));
    return done();
  }
  void dial(TestPeer& from, const TestPeer& to) {
    from.connect({to.id, {net.endpoint(to.id)}});
    ASSERT_TRUE(run_until([&] { return from.transport.linked(to.id); }, seconds(1)));
    run(milliseconds(50));
  }
  static Frame admit_request() {
    return {frame_type::kAdmitRequest, AdmitRequestMessage{1, Round()}.encode(), {}};
  }

  SimNetwork net{SimNetworkOptions()};
  std::vector<std::unique_ptr<GatePeer>> peers;
};

TEST_F(StrangerTest, ATicketsProofAndMembershipProveALinkAndItsEndUndoesThat) {
  GatePeer& first = add(0);
  first.found();
  GatePeer& second = add(1);
  second.hold_sync = true;
  second.join(first.ticket());
  ASSERT_TRUE(run_until([&] { return !first.joiners.empty(); }, seconds(2)));
  using enum LinkTrust;
  EXPECT_EQ(first.trusts[second.id], (std::vector<LinkTrust>{kStranger, kKnown, kProved}));
  EXPECT_EQ(second.trusts[first.id], std::vector<LinkTrust>{kProved});
  second.let_sync();
  ASSERT_TRUE(
      run_until([&] { return first.view().size() == 2 && second.view().size() == 2; }, seconds(5)));
  EXPECT_EQ(first.trust(second.id), kProved);
  // It leaves, and its link stays a while.
  second.leave();
  ASSERT_TRUE(run_until([&] { return first.view().size() == 1; }, seconds(5)));
  EXPECT_EQ(first.trust(second.id), kKnown);
}

// It shows the key that it had, so it is no stranger; it is answered seldom all the same.
TEST_F(StrangerTest, AFormerMemberIsNotAnsweredEachTimeItSpeaks) {
  GatePeer& first = add(0);
  first.found();
  GatePeer& second = add(1);
  second.join(first.ticket());
  ASSERT_TRUE(
      run_until([&] { return first.view().size() == 2 && second.view().size() == 2; }, seconds(5)));
  const ViewId before = second.view().id;
  second.leave();
  ASSERT_TRUE(run_until([&] { return first.view().size() == 1; }, seconds(5)));
  run(seconds(2));
  dial(second, first);
  second.types.clear();
  for (std::uint64_t i = 0; i < 5; ++i) {
    const HeartbeatMessage message{before, 1, i, Round()};
    (void)second.transport.send(first.id, Lane::kControl,
                                {frame_type::kHeartbeat, message.encode(), {}});
  }
  run(milliseconds(20));
  EXPECT_EQ(std::ranges::count(second.types, frame_type::kRemoved), 1);
  EXPECT_LE(second.types.size(), 2U);
  run(seconds(2));
  second.types.clear();
  for (int i = 0; i < 5; ++i) second.send(first.id, admit_request());
  run(milliseconds(20));
  EXPECT_EQ(second.types, std::vector<std::uint8_t>{frame_type::kJoinRefused});
}

TEST_F(StrangerTest, WhoWaitsWithATicketIsKnownAndAsksAsOftenAsItIsTold) {
  GatePeer& member = add(0, {}, 0);
  member.found();
  GatePeer& waiting = add(1);
  waiting.join(member.ticket());
  run(seconds(8));
  EXPECT_EQ(waiting.state(), MembershipState::kJoining);
  EXPECT_TRUE(waiting.transport.linked(member.id));
  EXPECT_EQ(member.trust(waiting.id), LinkTrust::kKnown);
  EXPECT_GT(waiting.types.size(), 10U);
  EXPECT_TRUE(member.refused.empty());
}

TEST_F(StrangerTest, AStrangerIsAnsweredOnceAndThenItsLinkEnds) {
  GatePeer& member = add(0);
  member.found();
  GatePeer& stranger = add(9);
  dial(stranger, member);
  stranger.send(member.id, admit_request());
  run(milliseconds(50));
  EXPECT_EQ(stranger.types, std::vector<std::uint8_t>{frame_type::kJoinRefused});
  EXPECT_TRUE(stranger.transport.linked(member.id));
  stranger.send(member.id, admit_request());
  run(milliseconds(50));
  EXPECT_EQ(stranger.types.size(), 1U);
  EXPECT_FALSE(stranger.transport.linked(member.id));
  // It was no flood.
  EXPECT_TRUE(member.reports.empty());
}

TEST_F(StrangerTest, EveryFrameCountsWhateverItsFamily) {
  GatePeer& member = add(0);
  member.found();
  for (const std::uint8_t type : {std::uint8_t{0x30}, std::uint8_t{0x53}, std::uint8_t{0xf0}}) {
    GatePeer& stranger = add(10U + type);
    dial(stranger, member);
    for (int i = 0; i < 8; ++i) stranger.send(member.id, {type, {}, {}});
    run(milliseconds(50));
    EXPECT_TRUE(stranger.transport.linked(member.id));
    stranger.send(member.id, {type, {}, {}});
    run(milliseconds(50));
    EXPECT_FALSE(stranger.transport.linked(member.id)) << int{type};
    EXPECT_TRUE(stranger.types.empty());
  }
}

TEST_F(StrangerTest, ThoseThatCameWhileAPeerWasANewcomerHaveTheSameBounds) {
  GatePeer& founder = add(0);
  founder.found();
  StrangerLimits limits;
  limits.count_max = 3;
  GatePeer& newcomer = add(1, limits);
  newcomer.hold_sync = true;
  newcomer.join(founder.ticket());
  run(seconds(1));
  ASSERT_EQ(newcomer.state(), MembershipState::kSyncing);
  for (std::uint32_t i = 10; i < 15; ++i) dial(add(i), newcomer);
  const auto linked = [&] {
    int count = 0;
    for (std::size_t i = 2; i < peers.size(); ++i) {
      count += newcomer.transport.linked(peers[i]->id) ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(linked(), 3);
  newcomer.let_sync();
  ASSERT_TRUE(run_until([&] { return newcomer.state() == MembershipState::kMember; }, seconds(5)));
  EXPECT_LE(linked(), 3);
  run(seconds(12));
  EXPECT_EQ(linked(), 0);
}

TEST_F(StrangerTest, ANewcomerGetsInThroughACrowdThatNeverEnds) {
  StrangerLimits limits;
  limits.count_max = 4;
  GatePeer& member = add(0, limits);
  member.found();
  for (std::uint32_t i = 10; i < 60; ++i) add(i);
  GatePeer& newcomer = add(1);
  newcomer.join(member.ticket());
  for (int turn = 0; turn < 500 && newcomer.state() != MembershipState::kMember; ++turn) {
    for (std::size_t i = 1; i + 1 < peers.size(); ++i) {
      if (!peers[i]->transport.linked(member.id)) {
        peers[i]->connect({member.id, {net.endpoint(member.id)}});
      }
    }
    run(milliseconds(10));
  }
  EXPECT_EQ(newcomer.state(), MembershipState::kMember);
}

}  // namespace
}  // namespace weft::stranger_test
