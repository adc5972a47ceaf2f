#include "weft/peer/membership.h"

#include <algorithm>
#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"
#include "weft/wire/frame_type.h"

namespace weft::membership_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A run of a few peers; peer 0 is the founder.
class MembershipTest : public ::testing::Test {
 protected:
  TestPeer& add(MembershipOptions options) {
    peers.push_back(std::make_unique<TestPeer>(net, std::move(options), 7));
    return *peers.back();
  }
  TestPeer& add(std::uint32_t number) { return add(test_membership(test_peer_id(number))); }

  // `count` members in one view.
  void form(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      MembershipOptions options = test_membership(test_peer_id(i));
      options.lone_survivor = lone_survivor;
      add(options);
    }
    peer(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(seconds(1));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(peer(i).state(), MembershipState::kMember) << i;
      ASSERT_EQ(peer(i).view().size(), static_cast<int>(count)) << i;
      ASSERT_EQ(peer(i).view().id, peer(0).view().id) << i;
    }
  }
  TestPeer& peer(std::size_t i) { return *peers[i]; }
  void run(Duration duration) { net.run_until(net.now() + duration); }
  void kill(std::size_t i, SimCrash how = SimCrash::kKilled) { net.crash(peer(i).id, how); }
  // In a view of two: which one may go on alone.
  std::size_t breaker() {
    return tie_breaker(test_membership(peer(0).id).run, peer(0).view()) == peer(0).id ? 0 : 1;
  }

  bool lone_survivor = false;
  SimNetwork net{SimNetworkOptions{}};
  std::vector<std::unique_ptr<TestPeer>> peers;
};

TEST_F(MembershipTest, FounderIsMemberOfViewOne) {
  MembershipOptions options = test_membership(test_peer_id(0));
  options.founded_at = Round(12);
  add(options).found();
  EXPECT_EQ(peer(0).state(), MembershipState::kMember);
  EXPECT_EQ(peer(0).view().id.number, ViewNumber(1));
  EXPECT_EQ(peer(0).view().base_round, Round(12));
  EXPECT_EQ(peer(0).view().rank_of(peer(0).id), Rank(0));
}

TEST_F(MembershipTest, JoinersAreAdmittedInOneChainOfViews) {
  form(5);
  for (const auto& p : peers) {
    EXPECT_TRUE(std::is_sorted(p->views.begin(), p->views.end(),
                               [](const View& a, const View& b) { return a.id < b.id; }));
  }
  EXPECT_EQ(peer(0).view().id.number, ViewNumber(5));
  EXPECT_EQ(peer(4).view().rank_of(peer(4).id), Rank(4));
}

TEST_F(MembershipTest, KilledMemberIsRemovedFast) {
  form(4);
  kill(2);
  run(milliseconds(700));
  for (const std::size_t i : {0U, 1U, 3U}) {
    EXPECT_EQ(peer(i).state(), MembershipState::kMember);
    EXPECT_EQ(peer(i).view().size(), 3);
    EXPECT_FALSE(peer(i).view().contains(peer(2).id));
    ASSERT_EQ(peer(i).changes.back().left.size(), 1U);
    EXPECT_THAT(to_string(peer(i).changes.back().left[0]), HasSubstr("failed"));
    EXPECT_GT(peer(i).freezes, 0);
  }
}

TEST_F(MembershipTest, SilentMachineIsRemovedWithinTheSuspicionTimeout) {
  form(4);
  kill(0, SimCrash::kPowerLoss);
  run(milliseconds(3500));
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_EQ(peer(i).view().size(), 3) << i;
}

TEST_F(MembershipTest, AnyMemberLetsJoinersIn) {
  form(3);
  kill(0);
  run(seconds(1));
  TestPeer& late = add(9);
  late.join(peer(2).ticket());
  run(seconds(1));
  EXPECT_EQ(late.state(), MembershipState::kMember);
  EXPECT_EQ(peer(1).view().size(), 3);
}

TEST_F(MembershipTest, JoinerWhoseSponsorDiesFindsAnother) {
  form(4);
  TestPeer& late = add(9);
  late.hold_sync = true;
  late.join(peer(3).ticket());
  run(milliseconds(100));
  ASSERT_EQ(late.state(), MembershipState::kSyncing);
  ASSERT_EQ(late.sponsors.size(), 1U);
  kill(3);
  run(seconds(2));
  ASSERT_EQ(late.sponsors.size(), 2U);
  late.hold_sync = false;
  run(seconds(1));
  EXPECT_EQ(late.state(), MembershipState::kMember);
  EXPECT_EQ(late.view().size(), 4);
  EXPECT_FALSE(late.views_ahead.empty());
}

TEST_F(MembershipTest, DeadJoinerIsForgotten) {
  form(2);
  TestPeer& late = add(9);
  late.hold_sync = true;
  late.join(peer(0).ticket());
  run(milliseconds(100));
  EXPECT_EQ(peer(0).membership->role(late.id), PeerRole::kJoiner);
  EXPECT_EQ(peer(1).membership->role(late.id), PeerRole::kJoiner);
  net.crash(late.id, SimCrash::kKilled);
  run(seconds(4));
  EXPECT_EQ(peer(0).membership->role(late.id), PeerRole::kStranger);
  EXPECT_EQ(peer(1).membership->role(late.id), PeerRole::kStranger);
  EXPECT_EQ(peer(1).joiners_gone, std::vector<PeerId>{late.id});
  EXPECT_EQ(peer(0).view().size(), 2);
}

TEST_F(MembershipTest, LeaverIsLetGoPolitely) {
  form(3);
  peer(0).leave();
  run(milliseconds(600));
  EXPECT_TRUE(peer(0).left);
  EXPECT_EQ(peer(1).view().size(), 2);
  ASSERT_EQ(peer(2).changes.back().left.size(), 1U);
  EXPECT_EQ(peer(2).changes.back().left[0].cause, DepartureCause::kLeft);
}

TEST_F(MembershipTest, AllMayLeaveAtOnce) {
  form(4);
  for (auto& p : peers) p->leave();
  run(milliseconds(500));
  for (auto& p : peers) EXPECT_TRUE(p->left);
}

TEST_F(MembershipTest, OfTwoEitherMayLeave) {
  form(2);
  const std::size_t leaver = breaker();
  peer(leaver).leave();
  run(seconds(1));
  EXPECT_TRUE(peer(leaver).left);
  EXPECT_EQ(peer(1 - leaver).view().size(), 1);
  EXPECT_EQ(peer(1 - leaver).state(), MembershipState::kMember);
}

TEST_F(MembershipTest, OfTwoTheTieBreakerGoesOnAlone) {
  form(2);
  const std::size_t stays = breaker();
  kill(1 - stays);
  run(seconds(1));
  EXPECT_EQ(peer(stays).view().size(), 1);
  EXPECT_EQ(peer(stays).state(), MembershipState::kMember);
}

TEST_F(MembershipTest, OfTwoOnlyTheTieBreakerPutsOutOneThatLivesAndOwes) {
  form(2);
  const std::size_t rank = breaker();
  TestPeer& decides = peer(rank);
  TestPeer& other = peer(1 - rank);
  other.suspect(decides.id, "owes round 7 for 20.0 s");
  run(seconds(10));
  EXPECT_EQ(other.view().size(), 2);
  EXPECT_EQ(decides.view().size(), 2);
  decides.suspect(other.id, "owes round 7 for 21.0 s");
  run(seconds(1));
  EXPECT_EQ(decides.view().size(), 1);
  EXPECT_EQ(other.state(), MembershipState::kRemoved);
}

TEST_F(MembershipTest, OfTwoTheOtherWaitsAndSaysWhy) {
  form(2);
  const std::size_t dies = breaker();
  TestPeer& waits = peer(1 - dies);
  waits.status.done = Round(41);
  kill(dies);
  run(seconds(10));
  EXPECT_EQ(waits.state(), MembershipState::kIsolated);
  EXPECT_TRUE(waits.membership->frozen());
  ASSERT_TRUE(waits.isolated.has_value());
  EXPECT_EQ(waits.isolated->missing.size(), 1U);
  EXPECT_EQ(waits.isolated->needed, 1);
  EXPECT_THAT(waits.isolated->text, HasSubstr(peer(dies).id.short_name()));
  EXPECT_THAT(waits.isolated->text, HasSubstr("2 of 2 members are needed"));
  EXPECT_THAT(waits.isolated->text, HasSubstr("up to round 41"));
  EXPECT_THAT(waits.isolated->text, HasSubstr("lone_survivor"));
}

TEST_F(MembershipTest, LoneSurvivorGoesOnWhicheverItIs) {
  lone_survivor = true;
  form(2);
  const std::size_t dies = breaker();
  kill(dies);
  run(seconds(1));
  EXPECT_EQ(peer(1 - dies).state(), MembershipState::kMember);
  EXPECT_EQ(peer(1 - dies).view().size(), 1);
}

TEST_F(MembershipTest, TwoCutApartNeverBothGoOn) {
  form(2);
  const std::size_t stays = breaker();
  net.partition({{peer(0).id}, {peer(1).id}});
  run(seconds(15));
  EXPECT_EQ(peer(stays).view().size(), 1);
  EXPECT_EQ(peer(1 - stays).state(), MembershipState::kIsolated);
  net.unblock_all();
  run(seconds(5));
  ASSERT_TRUE(peer(1 - stays).removed.has_value());
  peer(1 - stays).join(peer(stays).ticket());
  run(seconds(2));
  EXPECT_EQ(peer(1 - stays).state(), MembershipState::kMember);
  EXPECT_EQ(peer(stays).view().size(), 2);
}

TEST_F(MembershipTest, MinorityWaitsAndIsToldThatItWasRemoved) {
  form(5);
  net.partition({{peer(0).id, peer(1).id}, {peer(2).id, peer(3).id, peer(4).id}});
  run(seconds(12));
  EXPECT_EQ(peer(0).state(), MembershipState::kIsolated);
  EXPECT_EQ(peer(1).state(), MembershipState::kIsolated);
  EXPECT_EQ(peer(0).isolated->missing.size(), 3U);
  for (const std::size_t i : {2U, 3U, 4U}) EXPECT_EQ(peer(i).view().size(), 3) << i;
  net.unblock_all();
  run(seconds(5));
  EXPECT_EQ(peer(0).state(), MembershipState::kRemoved);
  EXPECT_EQ(peer(1).state(), MembershipState::kRemoved);
  peer(0).join(peer(2).ticket());
  run(seconds(2));
  EXPECT_EQ(peer(0).state(), MembershipState::kMember);
}

TEST_F(MembershipTest, EachOutageHasTheWholeTimeOutForItself) {
  form(4);
  for (int outage = 0; outage < 3; ++outage) {
    net.partition({{peer(0).id, peer(1).id}, {peer(2).id, peer(3).id}});
    run(seconds(3));
    net.unblock_all();
    run(seconds(8));
  }
  for (auto& p : peers) {
    EXPECT_EQ(p->state(), MembershipState::kMember);
    EXPECT_FALSE(p->isolated.has_value());
    EXPECT_EQ(p->view().size(), 4);
  }
}

TEST_F(MembershipTest, HalvesWaitAndGoOnTogetherWhenHealed) {
  form(4);
  net.partition({{peer(0).id, peer(1).id}, {peer(2).id, peer(3).id}});
  run(seconds(12));
  for (auto& p : peers) EXPECT_EQ(p->state(), MembershipState::kIsolated);
  net.unblock_all();
  run(seconds(10));
  for (auto& p : peers) {
    EXPECT_EQ(p->state(), MembershipState::kMember);
    EXPECT_EQ(p->view().size(), 4);
    EXPECT_EQ(p->quorums_back, 1);
  }
}

TEST_F(MembershipTest, RestartedProcessReplacesItsEarlierLife) {
  form(3);
  kill(1);
  peers[1].reset();
  MembershipOptions options = test_membership(test_peer_id(1));
  options.incarnation = 2;
  peers[1] = std::make_unique<TestPeer>(net, options, 8);
  peer(1).join(peer(0).ticket());
  run(seconds(3));
  EXPECT_EQ(peer(1).state(), MembershipState::kMember);
  ASSERT_NE(peer(0).view().find(peer(1).id), nullptr);
  EXPECT_EQ(peer(0).view().find(peer(1).id)->incarnation, 2U);
  EXPECT_EQ(peer(0).view().size(), 3);
}

TEST_F(MembershipTest, PausedProcessFindsOutThatItWasRemoved) {
  form(3);
  net.pause(peer(2).id);
  run(seconds(6));
  EXPECT_EQ(peer(0).view().size(), 2);
  net.resume(peer(2).id);
  run(seconds(4));
  EXPECT_EQ(peer(2).state(), MembershipState::kRemoved);
}

TEST_F(MembershipTest, ShortPauseChangesNothing) {
  form(3);
  const ViewId before = peer(0).view().id;
  net.pause(peer(2).id);
  run(milliseconds(500));
  net.resume(peer(2).id);
  run(seconds(4));
  EXPECT_EQ(peer(0).view().id, before);
  EXPECT_EQ(peer(2).view().id, before);
}

TEST_F(MembershipTest, OneBadLinkRemovesNobodyAtOnceAndOneOfThePairInTheEnd) {
  form(4);
  net.block(peer(1).id, peer(3).id);
  net.block(peer(3).id, peer(1).id);
  run(seconds(8));
  EXPECT_EQ(peer(0).view().size(), 4);
  run(seconds(10));
  EXPECT_EQ(peer(0).view().size(), 3);
  EXPECT_TRUE(peer(0).view().contains(peer(1).id));
  EXPECT_THAT(peer(0).changes.back().left.at(0).reason, HasSubstr("stays broken"));
}

TEST_F(MembershipTest, TwoCollectiveNeighboursTogetherRemoveAStalledMember) {
  form(4);
  peer(0).suspect(peer(2).id, "owes round 7 for 3.0 s");
  run(seconds(2));
  EXPECT_EQ(peer(0).view().size(), 4);
  peer(1).suspect(peer(2).id, "owes round 7 for 3.1 s");
  run(seconds(2));
  EXPECT_EQ(peer(0).view().size(), 3);
  EXPECT_THAT(peer(3).changes.back().left.at(0).reason, HasSubstr("owes round 7"));
}

TEST_F(MembershipTest, BaseRoundIsTheLeastThatTheQuorumHasDone) {
  form(3);
  peer(0).status.done = Round(8);
  peer(0).committed = Round(7);
  peer(1).status.done = Round(7);
  kill(2);
  run(seconds(1));
  EXPECT_EQ(peer(0).view().base_round, Round(7));
  EXPECT_EQ(peer(1).view().base_round, Round(7));
}

TEST_F(MembershipTest, TicketOfAnotherRunIsRefusedWithTheReason) {
  form(2);
  MembershipOptions options = test_membership(test_peer_id(9));
  options.recipe_hash = sha256(as_bytes("another recipe"));
  TestPeer& late = add(options);
  late.join(peer(0).ticket());
  run(seconds(1));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("recipe hash"));
  EXPECT_EQ(late.state(), MembershipState::kOutside);
  ASSERT_EQ(peer(0).refused.size(), 1U);
  EXPECT_THAT(peer(0).refused[0].message(), HasSubstr("recipe hash"));
}

TEST_F(MembershipTest, ForgedAndExpiredTicketsAreRefused) {
  form(1);
  Ticket forged = peer(0).ticket();
  forged.secret[0] ^= 1U;
  TestPeer& first = add(8);
  first.join(forged);
  Ticket expired = peer(0).ticket();
  expired.expiry_unix_s = net.clock().unix_time_s() - 5;
  TestPeer& second = add(9);
  second.join(expired);
  run(seconds(1));
  EXPECT_THAT(first.join_failed.value().message(), HasSubstr("altered"));
  EXPECT_THAT(second.join_failed.value().message(), HasSubstr("expired 5 s ago"));
}

TEST_F(MembershipTest, JoinWithoutAnyMemberInReachFailsInTime) {
  form(1);
  const Ticket ticket = peer(0).ticket();
  net.crash(peer(0).id, SimCrash::kPowerLoss);
  TestPeer& late = add(9);
  late.join(ticket);
  run(seconds(32));
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr("join timeout"));
}

TEST_F(MembershipTest, ANewcomerWithoutAPathToAMemberSaysSoAndGivesUpInTime) {
  form(3);
  TestPeer& late = add(9);
  net.block(late.id, peer(2).id);
  net.block(peer(2).id, late.id);
  late.join(peer(0).ticket());
  run(seconds(9));
  EXPECT_TRUE(late.unreached.empty());
  run(seconds(3));
  EXPECT_THAT(late.unreached, ElementsAre(peer(2).id));
  EXPECT_THAT(late.unreached_text, HasSubstr(peer(2).id.short_name()));
  EXPECT_THAT(late.unreached_text, HasSubstr(net.endpoint(peer(2).id)));
  EXPECT_THAT(late.unreached_text, HasSubstr("no answer"));
  EXPECT_THAT(late.unreached_text, HasSubstr("open or map a port"));
  run(seconds(90));
  EXPECT_EQ(late.state(), MembershipState::kSyncing);
  EXPECT_EQ(late.unreached.size(), 1U);
  run(seconds(25));
  EXPECT_EQ(late.state(), MembershipState::kOutside);
  ASSERT_TRUE(late.join_failed.has_value());
  EXPECT_THAT(late.join_failed->message(), HasSubstr(peer(2).id.short_name()));
  // Its place is another's, and the members have not been disturbed.
  run(seconds(35));
  EXPECT_EQ(peer(0).membership->role(late.id), PeerRole::kStranger);
  EXPECT_EQ(peer(0).view().id.number, ViewNumber(3));
  // It may try again, and gets in once there is a path.
  net.unblock_all();
  late.join(peer(0).ticket());
  run(seconds(5));
  EXPECT_EQ(late.state(), MembershipState::kMember);
  EXPECT_EQ(peer(2).view().size(), 4);
}

TEST_F(MembershipTest, ANewcomerIsLetInOnceThePathIsThere) {
  form(3);
  TestPeer& late = add(9);
  net.block(late.id, peer(2).id);
  late.join(peer(0).ticket());
  run(seconds(40));
  EXPECT_EQ(late.unreached.size(), 1U);
  EXPECT_EQ(late.state(), MembershipState::kSyncing);
  net.unblock_all();
  run(seconds(8));
  EXPECT_EQ(late.state(), MembershipState::kMember);
  EXPECT_FALSE(late.join_failed.has_value());
}

TEST_F(MembershipTest, ANewcomerDoesNotWaitForAMemberThatIsGone) {
  form(4);
  kill(3, SimCrash::kPowerLoss);
  TestPeer& late = add(9);
  late.join(peer(0).ticket());
  run(seconds(8));
  EXPECT_EQ(late.state(), MembershipState::kMember);
  EXPECT_TRUE(late.unreached.empty());
}

TEST_F(MembershipTest, TooManyStrangersAreTurnedAway) {
  MembershipOptions options = test_membership(test_peer_id(0));
  options.strangers.count_max = 3;
  add(options).found();
  for (std::uint32_t i = 1; i <= 5; ++i) {
    add(i).connect({peer(0).id, {net.endpoint(peer(0).id)}});
  }
  run(seconds(1));
  EXPECT_EQ(peer(0).refused.size(), 2U);
  // The others are given a while, then their links are closed too.
  run(seconds(12));
  for (std::uint32_t i = 1; i <= 5; ++i) EXPECT_FALSE(peer(0).transport.linked(peer(i).id));
}

TEST_F(MembershipTest, GarbageEndsTheLinkAndNothingElse) {
  form(3);
  TestPeer& stranger = add(9);
  stranger.connect({peer(0).id, {net.endpoint(peer(0).id)}});
  run(milliseconds(100));
  stranger.send(peer(0).id, Frame{frame_type::kPrepare, Bytes{1, 2, 3}, {}});
  run(milliseconds(500));
  ASSERT_FALSE(peer(0).closed.empty());
  EXPECT_EQ(peer(0).closed.back().code(), Code::kCorrupt);
  EXPECT_FALSE(peer(0).transport.linked(stranger.id));
  EXPECT_EQ(peer(0).view().size(), 3);
}

TEST_F(MembershipTest, JoinsAreLimitedAtOnceAndAllGetInInTheEnd) {
  form(1);
  for (std::uint32_t i = 1; i <= 8; ++i) add(i).join(peer(0).ticket());
  run(seconds(12));
  for (std::uint32_t i = 1; i <= 8; ++i) EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
  EXPECT_EQ(peer(0).view().size(), 9);
}

}  // namespace
}  // namespace weft::membership_test
