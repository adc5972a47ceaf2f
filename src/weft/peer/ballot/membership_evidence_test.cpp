// Whose word is believed: of later views, of removals, of bans; and what the run's key gives.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer_group.h"

namespace weft::membership_evidence_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Keeps what it is told of views.
class ListeningPeer : public TestPeer {
 public:
  using TestPeer::TestPeer;
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    if (frame.type == frame_type::kViewNotice) {
      if (auto notice = ViewNoticeMessage::decode(frame.head); notice.ok()) {
        notices.push_back(std::move(notice).value());
      }
    } else if (frame.type == frame_type::kHeartbeat) {
      if (const auto beat = HeartbeatMessage::decode(frame.head); beat.ok()) {
        views_named.push_back(beat->view);
      }
    }
    TestPeer::on_frame(from, lane, frame);
  }
  std::vector<ViewNoticeMessage> notices;
  std::vector<ViewId> views_named;
};

class EvidenceTest : public PeerGroupTest {
 protected:
  TestPeer& add_without_key(std::uint32_t number) {
    MembershipOptions options = options_of(number);
    options.invitation_key = {};
    peers.push_back(make_peer(std::move(options)));
    return *peers.back();
  }
  std::unique_ptr<TestPeer> make_peer(MembershipOptions options) override {
    return std::make_unique<ListeningPeer>(net, std::move(options), 7);
  }
  ListeningPeer& listener(std::size_t i) { return dynamic_cast<ListeningPeer&>(peer(i)); }
  void cut(std::size_t one, std::size_t other) {
    net.block(peer(one).id, peer(other).id);
    net.block(peer(other).id, peer(one).id);
  }
  void cut_off(std::size_t who) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (i != who) cut(who, i);
    }
  }
  // What was said to it meanwhile is lost.
  void come_back(std::size_t who) {
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (i != who) net.break_link(peer(who).id, peer(i).id);
    }
    net.unblock_all();
    run(seconds(4));
  }
  void link(std::size_t from, std::size_t to) {
    peer(from).transport.connect({peer(to).id, {net.endpoint(peer(to).id)}});
    run(milliseconds(200));
  }
  template <class Message>
  void say(std::size_t from, std::size_t to, std::uint8_t type, const Message& message) {
    (void)peer(from).transport.send(peer(to).id, Lane::kControl, {type, message.encode(), {}});
    run(milliseconds(200));
  }
  // A later view of these members, with a good hash.
  ViewNoticeMessage made_up(const ViewId& previous, std::vector<Member> members) {
    ViewNoticeMessage lie;
    lie.previous = previous;
    lie.value.members = std::move(members);
    lie.view = next_view_id(test_membership({}).run, lie.previous, lie.value);
    return lie;
  }
  static ViewId absurd() {
    ViewId view;
    view.number = ViewNumber(std::uint64_t{1} << 62U);
    return view;
  }
  // `who` says to `to` everything by which views are told of.
  void lie_to(std::size_t who, std::size_t to) {
    const View before = peer(to).view();
    const Member victim = *before.find(peer(to).id);
    const Member self{peer(who).id, 1, {}};
    for (const ViewId& view : {absurd(), ViewId{before.id}}) {
      say(who, to, frame_type::kViewNotice, made_up(view, {victim, self}));
      say(who, to, frame_type::kViewNotice, made_up(view, {self}));
      ViewNoticeMessage brief = made_up(view, {victim, self});
      brief.difference = difference_to(test_membership({}).run, before, brief.value);
      brief.difference->next = brief.view.hash;
      say(who, to, frame_type::kViewNotice, brief);
    }
    say(who, to, frame_type::kRemoved, RemovedMessage{absurd(), 1, "says one"});
  }
  void expect_undisturbed(std::size_t count, int size) {
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
      EXPECT_EQ(peer(i).view(), peer(0).view()) << i;
      EXPECT_EQ(peer(i).view().size(), size) << i;
      EXPECT_FALSE(peer(i).removed.has_value()) << i;
    }
  }
  bool strange(std::size_t at, std::size_t who) {
    return peer(at).membership->core().links.holds_stranger(peer(who).id);
  }
};

TEST_F(EvidenceTest, AFormerMemberThrowsNobodyOutAndInstallsNoView) {
  form(6);
  peer(5).leave();
  run(seconds(2));
  ASSERT_TRUE(peer(5).left);
  const ViewId before = peer(0).view().id;
  for (std::size_t i = 0; i < 5; ++i) {
    link(5, i);
    lie_to(5, i);
  }
  run(seconds(8));
  expect_undisturbed(5, 5);
  EXPECT_EQ(peer(0).view().id, before);
}

TEST_F(EvidenceTest, NorOneThatWasPutOutAsSilent) {
  form(4);
  cut_off(3);
  run(seconds(8));
  ASSERT_EQ(peer(0).view().size(), 3);
  net.unblock_all();
  peer(3).membership->drop_out("to lie", net.now());
  for (std::size_t i = 0; i < 3; ++i) {
    link(3, i);
    lie_to(3, i);
  }
  run(seconds(8));
  expect_undisturbed(3, 3);
}

TEST_F(EvidenceTest, OneMembersWordOfAnAbsurdViewIsNotEnough) {
  form(5);
  const ViewId before = peer(0).view().id;
  for (std::size_t i = 0; i < 4; ++i) {
    const Member victim = *peer(i).view().find(peer(i).id);
    say(4, i, frame_type::kRemoved, RemovedMessage{absurd(), 1, "says one"});
    say(4, i, frame_type::kViewNotice, made_up(absurd(), {victim, Member{peer(4).id, 1, {}}}));
    say(4, i, frame_type::kViewNotice, made_up(absurd(), {Member{peer(4).id, 1, {}}}));
  }
  run(seconds(12));
  expect_undisturbed(5, 5);
  EXPECT_EQ(peer(0).view().id, before);
}

TEST_F(EvidenceTest, OfTwoWhoSayThatThereIsALaterViewTheSecondIsBelieved) {
  form(4);
  cut_off(3);
  run(seconds(8));
  ASSERT_EQ(peer(3).state(), MembershipState::kIsolated);
  ASSERT_EQ(peer(0).view().size(), 3);
  net.unblock_all();
  run(seconds(3));
  ASSERT_TRUE(peer(3).removed.has_value());
  EXPECT_THAT(peer(3).removed->message(), HasSubstr("no heartbeat for"));
}

// Views {0 1 2 3}, {0 1 2}, {0 1} and so on to {3 4}: of those that 2 was with last nobody lives.
TEST_F(EvidenceTest, WhoseFellowMembersAreAllGoneComesBackAsANewcomer) {
  form(4);
  cut_off(3);
  run(seconds(8));
  ASSERT_EQ(peer(2).view().size(), 3);
  net.unblock_all();
  cut_off(2);
  run(seconds(10));
  ASSERT_EQ(peer(2).state(), MembershipState::kIsolated);
  ASSERT_EQ(peer(3).state(), MembershipState::kRemoved);
  peer(3).join(peer(0).ticket());
  run(seconds(2));
  TestPeer& later = add(4);
  cut(2, 4);
  later.join(peer(0).ticket());
  run(seconds(2));
  ASSERT_EQ(peer(0).view().size(), 4);
  for (const std::size_t gone : {0U, 1U}) {
    net.crash(peer(gone).id, SimCrash::kKilled);
    run(seconds(8));
  }
  ASSERT_EQ(later.state(), MembershipState::kMember);
  ASSERT_EQ(later.view().size(), 2);
  const ViewId known = peer(2).view().id;
  net.unblock_all();
  run(seconds(20));
  ASSERT_TRUE(peer(2).removed.has_value());
  EXPECT_THAT(peer(2).removed->message(), HasSubstr("in a later view"));
  EXPECT_EQ(peer(2).view().id, known) << "it has taken nothing over";
  peer(2).join(peer(2).ticket());
  run(seconds(3));
  EXPECT_EQ(peer(2).state(), MembershipState::kMember);
  EXPECT_EQ(later.view().size(), 3);
}

TEST_F(EvidenceTest, WithoutTheRunsPresentKeyNobodyCallsAPeerThatIsCutOff) {
  form(5);
  peer(4).leave();
  run(seconds(2));
  ASSERT_TRUE(peer(0).revoke(kAllInvitations).ok());
  run(seconds(1));
  for (const std::size_t other : {0U, 1U, 2U}) cut(3, other);
  run(seconds(8));
  ASSERT_EQ(peer(3).state(), MembershipState::kIsolated);
  // It shows the key that it had, and goes on about a later view for as long as it likes.
  const Hash256 old_key = test_membership({}).invitation_key;
  for (int i = 0; i < 8; ++i) {
    link(4, 3);
    const auto& known = peer(3).membership->core().links.all();
    if (known.count(peer(4).id) != 0) {
      const ProofLink proven{peer(4).id, peer(3).id, known.at(peer(4).id).exporter};
      const RunId run_id = test_membership({}).run;
      say(4, 3, frame_type::kMemberProof,
          MemberProofMessage{member_proof(old_key, run_id, proven)});
      say(4, 3, frame_type::kRemoved, RemovedMessage{absurd(), 1, "come"});
    }
    run(seconds(2));
  }
  EXPECT_EQ(peer(3).state(), MembershipState::kIsolated);
  net.unblock_all();
  run(seconds(4));
  ASSERT_TRUE(peer(3).removed.has_value()) << "the members' word counts";
}

TEST_F(EvidenceTest, AfterARenewedKeyAFormerMemberIsAStranger) {
  form(4);
  peer(3).leave();
  run(seconds(2));
  link(3, 0);
  link(3, 1);
  ASSERT_TRUE(peer(0).revoke(kAllInvitations).ok());
  run(seconds(1));
  EXPECT_TRUE(strange(0, 3));
  EXPECT_TRUE(strange(1, 3)) << "at those that are told of it, too";
  for (const auto& each : {0U, 1U, 2U}) {
    EXPECT_TRUE(peer(each).membership->core().former.departed().empty());
    EXPECT_TRUE(peer(each).membership->core().former.all().empty());
  }
  for (int i = 0; i < 12; ++i) say(3, 0, frame_type::kOutside, OutsideMessage{9});
  EXPECT_FALSE(peer(0).transport.linked(peer(3).id)) << "a stranger may say little";
  Ticket old;
  old.run = test_membership({}).run;
  old.members = {{peer(0).id, {net.endpoint(peer(0).id)}}};
  old.expiry_unix_s = net.clock().unix_time_s() + 1000;
  old.secret = invitation_secret(test_membership({}).invitation_key, old.run, old.invitation,
                                 old.expiry_unix_s);
  TestPeer& holder = add(9);
  holder.join(old);
  run(seconds(2));
  ASSERT_TRUE(holder.join_failed.has_value());
  EXPECT_THAT(holder.join_failed->message(),
              HasSubstr("was not made by a member of this run, was altered, or was revoked"));
}

TEST_F(EvidenceTest, TheRunsKeyComesWithTheViewThatAdmits) {
  form(2);
  TestPeer& newcomer = add_without_key(5);
  newcomer.hold_sync = true;
  newcomer.join(peer(0).ticket(InvitationId{3}));
  run(seconds(2));
  ASSERT_EQ(newcomer.state(), MembershipState::kSyncing);
  EXPECT_FALSE(newcomer.membership->core().keys.has_key());
  // What it came by is what it can hand on, no more.
  EXPECT_EQ(newcomer.ticket(InvitationId{8}).invitation, InvitationId{3});
  newcomer.let_sync();
  run(seconds(2));
  ASSERT_EQ(newcomer.state(), MembershipState::kMember);
  EXPECT_TRUE(newcomer.membership->core().keys.has_key());
  Ticket minted = newcomer.ticket(InvitationId{8});
  minted.members.resize(1);
  TestPeer& another = add_without_key(6);
  another.join(minted);
  run(seconds(2));
  EXPECT_EQ(another.state(), MembershipState::kMember);
}

TEST_F(EvidenceTest, ARenewedKeyReachesNewcomersWithTheirViewOnly) {
  form(2);
  ASSERT_TRUE(peer(0).revoke(kAllInvitations).ok());
  run(seconds(1));
  TestPeer& newcomer = add_without_key(5);
  newcomer.hold_sync = true;
  newcomer.join(peer(1).ticket(InvitationId{3}));
  run(seconds(2));
  ASSERT_EQ(newcomer.state(), MembershipState::kSyncing);
  EXPECT_FALSE(newcomer.membership->core().keys.has_key());
  newcomer.let_sync();
  run(seconds(2));
  ASSERT_EQ(newcomer.state(), MembershipState::kMember);
  EXPECT_EQ(newcomer.membership->core().options.invitation_key,
            peer(0).membership->core().options.invitation_key);
  EXPECT_EQ(newcomer.membership->core().bans.revocations().renewals(), 1U);
}

// One misses the view that puts somebody out, and hears of the verdict before it hears of the view.
TEST_F(EvidenceTest, ABanOutlivesAMissedView) {
  form(6);
  Ticket ticket = peer(3).ticket();
  ticket.members.resize(1);
  for (const std::size_t other : {0U, 1U, 2U, 4U, 5U}) cut(3, other);
  for (const std::size_t by : {0U, 1U, 2U}) {
    ASSERT_TRUE(peer(by).expel(peer(4).id, "it lies about its data").ok());
  }
  run(milliseconds(200));
  ASSERT_FALSE(peer(0).view().contains(peer(4).id));
  peer(5).leave();
  run(milliseconds(200));
  come_back(3);
  ASSERT_EQ(peer(3).view(), peer(0).view());
  ASSERT_TRUE(peer(3).changes.back().caught_up);
  EXPECT_NE(peer(3).membership->core().bans.revocations().ban_reason(peer(4).id), nullptr);
  peer(4).join_failed.reset();
  peer(4).join(ticket);
  run(seconds(3));
  ASSERT_TRUE(peer(4).join_failed.has_value());
  EXPECT_THAT(peer(4).join_failed->message(), HasSubstr("put this peer out of the run"));
}

TEST_F(EvidenceTest, WhoWasOutMeanwhileLearnsOfABanOnItsReturn) {
  form(6);
  cut_off(3);
  run(seconds(8));
  for (const std::size_t by : {0U, 1U, 2U}) {
    ASSERT_TRUE(peer(by).expel(peer(4).id, "it lies about its data").ok());
  }
  run(seconds(1));
  ASSERT_EQ(peer(0).view().size(), 4);
  net.unblock_all();
  run(seconds(4));
  ASSERT_EQ(peer(3).state(), MembershipState::kRemoved);
  ASSERT_TRUE(peer(3).view().contains(peer(4).id)) << "as far as it knew";
  peer(3).join(peer(0).ticket());
  run(seconds(3));
  ASSERT_EQ(peer(3).state(), MembershipState::kMember);
  EXPECT_NE(peer(3).membership->core().bans.revocations().ban_reason(peer(4).id), nullptr);
  for (const Departure& left : peer(3).changes.back().left) {
    EXPECT_THAT(left.reason, HasSubstr("not known here"));
  }
}

TEST_F(EvidenceTest, AVoterTellsOfABanBeforeItPromises) {
  form(4);
  // As after a merge: one knows of a verdict that the others have never heard of.
  const_cast<Membership::Core&>(peer(1).membership->core()).bans.ban({test_peer_id(9), "it lied"});
  TestPeer& banned = add(9);
  Ticket ticket = peer(0).ticket();
  ticket.members.resize(1);
  banned.join(ticket);
  run(seconds(5));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_FALSE(peer(i).view().contains(banned.id)) << i;
    EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
  }
}

TEST_F(EvidenceTest, AVerdictOnAMemberIsAVoiceAgainNotAnEnd) {
  form(4);
  const auto know = [&](std::size_t who) {
    const_cast<Membership::Core&>(peer(who).membership->core())
        .bans.ban({peer(3).id, "it lied in the other branch"});
  };
  know(0);
  // Whoever knows says so when the next view is there; one of three others is no majority.
  add(7).join(peer(0).ticket());
  run(seconds(2));
  EXPECT_TRUE(peer(0).view().contains(peer(3).id));
  know(1);
  know(2);
  add(8).join(peer(0).ticket());
  run(seconds(3));
  for (const std::size_t i : {0U, 1U, 2U, 4U}) {
    EXPECT_FALSE(peer(i).view().contains(peer(3).id)) << i;
  }
}

TEST_F(EvidenceTest, AViewThatWasMissedLeavesReasonsUnknown) {
  form(6);
  for (const std::size_t other : {0U, 1U, 2U, 4U, 5U}) cut(3, other);
  for (const std::size_t leaver : {4U, 5U}) {
    peer(leaver).leave();
    run(milliseconds(200));
    // It tells nobody which view it was in last.
    net.crash(peer(leaver).id, SimCrash::kKilled);
  }
  come_back(3);
  ASSERT_EQ(peer(3).view(), peer(0).view());
  ASSERT_TRUE(peer(3).changes.back().caught_up);
  for (const Departure& left : peer(3).changes.back().left) {
    if (left.id != peer(4).id) continue;
    EXPECT_THAT(to_string(left), HasSubstr("failed (reason not known here (views were missed))"));
  }
  EXPECT_EQ(peer(3).changes.back().left.size(), 2U);
}

// --- Views that travel as differences.

TEST_F(EvidenceTest, WhoIsBehindGetsADifferenceOnlyFromTheViewThatItNames) {
  form(4);
  ListeningPeer& asker = listener(3);
  const ViewId before = peer(0).views[peer(0).views.size() - 2].id;
  ASSERT_EQ(before.number.next(), peer(0).view().id.number);
  const auto ask = [&](const ViewId& in) {
    asker.notices.clear();
    say(3, 0, frame_type::kHeartbeat, HeartbeatMessage{in, 1, 1, {}});
    EXPECT_EQ(asker.notices.size(), 1U);
    return asker.notices.empty() ? ViewNoticeMessage{} : asker.notices.back();
  };
  const ViewNoticeMessage brief = ask(before);
  EXPECT_EQ(brief.previous, before);
  ASSERT_TRUE(brief.difference.has_value());
  const Result<ViewValue> value = value_after(
      test_membership({}).run, peer(0).views[peer(0).views.size() - 2], *brief.difference);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->members, peer(0).view().members);
  ViewId older = before;
  older.number = ViewNumber(1);
  const ViewNoticeMessage whole = ask(older);
  EXPECT_FALSE(whole.difference.has_value());
  EXPECT_EQ(whole.value.members, peer(0).view().members);
  ViewId other = before;
  other.hash[0] ^= 1U;
  EXPECT_FALSE(ask(other).difference.has_value());
}

TEST_F(EvidenceTest, WhoGetsADifferenceFromAViewThatItDoesNotHoldAsks) {
  form(4);
  ListeningPeer& teller = listener(0);
  ViewNoticeMessage later = made_up(absurd(), {*peer(0).view().find(peer(0).id)});
  later.difference.emplace();
  const auto tell = [&](const ViewNoticeMessage& notice) {
    teller.views_named.clear();
    (void)peer(0).transport.send(peer(3).id, Lane::kControl,
                                 {frame_type::kViewNotice, notice.encode(), {}});
    run(milliseconds(10));
  };
  // Between two heartbeats.
  run(milliseconds(5));
  tell(later);
  ASSERT_EQ(teller.views_named.size(), 1U);
  EXPECT_EQ(teller.views_named.back(), peer(3).view().id);
  later.view.number = peer(3).view().id.number;
  later.view.hash = {};
  tell(later);
  EXPECT_TRUE(teller.views_named.empty()) << "it is not behind";
  expect_undisturbed(4, 4);
}

TEST_F(EvidenceTest, ATwinIsNamedOnBothSidesOnceAMinute) {
  form(3);
  peer(0).membership->on_twin(peer(2).id, "192.0.2.7:7420", net.now());
  peer(0).membership->on_twin(peer(2).id, "192.0.2.7:7421", net.now());
  run(seconds(1));
  ASSERT_EQ(peer(0).twins.size(), 1U);
  EXPECT_THAT(peer(0).twins[0], HasSubstr("192.0.2.7:7420, uses the identity of peer"));
  ASSERT_EQ(peer(2).twins.size(), 1U);
  EXPECT_THAT(peer(2).twins[0], HasSubstr("uses this peer's identity"));
  expect_undisturbed(3, 3);
}

}  // namespace
}  // namespace weft::membership_evidence_test
