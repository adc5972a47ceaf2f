// What one lying member can propose: voters refuse what no correct member would.
#include <functional>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer.h"

namespace weft::membership_proposal_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// A group of so many, in which values travel whole or as differences from the view.
struct Group {
  std::size_t count = 0;
  bool brief = false;
};

class ProposalTest : public ::testing::TestWithParam<Group> {
 protected:
  void form(std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      peers.push_back(
          std::make_unique<TestPeer>(net, test_membership(test_peer_id(i)), std::uint64_t{7}));
    }
    peer(0).found();
    for (std::size_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(seconds(1));
      ASSERT_EQ(peer(i).state(), MembershipState::kMember) << i;
    }
    for (const auto& each : peers) {
      each->status.done = Round(8);
      each->committed = Round(7);
    }
  }
  void form_group() {
    brief = GetParam().brief;
    form(GetParam().count);
  }
  TestPeer& peer(std::size_t i) { return *peers[i]; }
  static RunId run_id() { return test_membership({}).run; }
  std::size_t liar() const { return peers.size() - 1; }
  void run(Duration duration) { net.run_until(net.now() + duration); }

  template <class Message>
  void say(std::size_t to, std::uint8_t type, const Message& message) {
    (void)peer(liar()).transport.send(peer(to).id, Lane::kControl, {type, message.encode(), {}});
  }
  // The value that would change nothing.
  ViewValue same(std::size_t of) {
    const View& view = peer(of).view();
    ViewValue value;
    value.base_round = Round(7);
    value.members = view.members;
    value.lineage = view.lineage;
    return value;
  }
  static void remove(ViewValue& value, const PeerId& who, DepartureCause cause) {
    for (const Member& member : value.members) {
      if (member.id != who) continue;
      value.departures.push_back({who, member.incarnation, cause, "3 of 4 others accuse it"});
    }
    std::erase_if(value.members, [&](const Member& member) { return member.id == who; });
  }
  // One ballot of the liar with all the others, and its word that the value was decided.
  void propose(const std::function<void(ViewValue&)>& lie, bool claims = true) {
    ++counter;
    for (std::size_t i = 0; i < liar(); ++i) {
      const ViewId view = peer(i).view().id;
      ViewValue value = same(i);
      lie(value);
      const Ballot ballot{counter, peer(liar()).id};
      say(i, frame_type::kPrepare, PrepareMessage{view, ballot});
      AcceptMessage accept{view, ballot, value};
      if (brief) accept.difference = difference_to(run_id(), peer(i).view(), value);
      say(i, frame_type::kAccept, accept);
      if (!claims) continue;
      ViewNoticeMessage notice{view, {}, value};
      notice.view = next_view_id(run_id(), view, value);
      notice.difference = accept.difference;
      say(i, frame_type::kViewNotice, notice);
    }
    run(milliseconds(200));
  }
  // For longer than any voter waits for better evidence.
  void insist(const std::function<void(ViewValue&)>& lie) {
    for (int i = 0; i < 40; ++i) propose(lie, i < 10);
    run(seconds(8));
  }
  void expect_undisturbed() {
    for (std::size_t i = 0; i < liar(); ++i) {
      EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
      EXPECT_EQ(peer(i).view(), peer(0).view()) << i;
      EXPECT_FALSE(peer(i).removed.has_value()) << i;
      EXPECT_GE(peer(i).view().base_round, Round()) << i;
      EXPECT_LE(peer(i).view().base_round, Round(8)) << i;
      for (std::size_t j = 0; j < liar(); ++j) {
        EXPECT_EQ(peer(i).membership->core().bans.revocations().ban_reason(peer(j).id), nullptr)
            << i;
      }
      for (const View& view : peer(i).views) {
        if (view.size() < static_cast<int>(peers.size())) continue;
        EXPECT_TRUE(view.base_round == Round() || view.base_round >= Round(7)) << i;
      }
      for (std::size_t j = 0; j < liar(); ++j) {
        const Member* there = peer(i).view().find(peer(j).id);
        ASSERT_NE(there, nullptr) << i << " lacks " << j;
        EXPECT_EQ(there->endpoints, std::vector<std::string>{net.endpoint(peer(j).id)});
      }
    }
  }

  std::uint64_t counter = 100;
  // Parameters are those of TEST_P only.
  bool brief = false;
  SimNetwork net{SimNetworkOptions{}};
  std::vector<std::unique_ptr<TestPeer>> peers;
};

INSTANTIATE_TEST_SUITE_P(Groups, ProposalTest,
                         ::testing::Values(Group{3, false}, Group{5, false}, Group{3, true},
                                           Group{5, true}));

TEST_P(ProposalTest, PutsNobodyOutOfTheRun) {
  form_group();
  const PeerId victim = peer(1).id;
  insist([&](ViewValue& value) { remove(value, victim, DepartureCause::kExpelled); });
  expect_undisturbed();
  EXPECT_TRUE(peer(0).view().contains(victim));
}

TEST_P(ProposalTest, BeginsNotBelowWhatIsCommitted) {
  form_group();
  // One round below may be what others were made to accept; not at once, though.
  propose([](ViewValue& value) { value.base_round = Round(6); });
  insist([](ViewValue& value) { value.base_round = Round(5); });
  expect_undisturbed();
}

TEST_P(ProposalTest, BeginsNotWhereNobodyIs) {
  form_group();
  insist([](ViewValue& value) { value.base_round = Round(1'000'000); });
  expect_undisturbed();
}

TEST_P(ProposalTest, DoesNotSayThatAMemberLeaves) {
  form_group();
  const std::size_t views = peer(1).views.size();
  const PeerId victim = peer(1).id;
  propose([&](ViewValue& value) { remove(value, victim, DepartureCause::kLeft); }, false);
  EXPECT_FALSE(peer(1).membership->core().balloting.agreement()->accepted().has_value());
  EXPECT_EQ(peer(1).views.size(), views);
}

TEST_P(ProposalTest, WhatNoMemberCanSayIsRefusedAndBlamed) {
  form_group();
  const PeerId victim = peer(1).id;
  const Member other = *peer(0).view().find(peer(0).id);
  const std::vector<std::function<void(ViewValue&)>> lies = {
      [&](ViewValue& value) {
        for (Member& member : value.members) {
          if (member.id == victim) member.endpoints = {"192.0.2.7:7420"};
        }
      },
      [&](ViewValue& value) {
        for (Member& member : value.members) {
          if (member.id == victim) ++member.incarnation;
        }
      },
      // Gone without a word.
      [&](ViewValue& value) {
        std::erase_if(value.members, [&](const Member& m) { return m.id == victim; });
      },
      [&](ViewValue& value) {
        value.departures.push_back({victim, 1, DepartureCause::kExpelled, "stays all the same"});
      },
      [&](ViewValue& value) {
        value.departures.push_back({test_peer_id(99), 1, DepartureCause::kExpelled, "unknown"});
      },
      [](ViewValue& value) { value.yields_to = sha256(as_bytes("another branch")); },
      [](ViewValue& value) {
        value.lineage.points.push_back({sha256(as_bytes("a branch")), {}, 7});
      },
  };
  for (const auto& lie : lies) {
    const double before =
        peer(0).membership->core().judgement.conduct().score(peer(liar()).id, net.now());
    propose(lie, false);
    const auto& core = peer(0).membership->core();
    EXPECT_FALSE(core.balloting.agreement()->accepted().has_value() &&
                 core.balloting.agreement()->accepted()->ballot.proposer == peer(liar()).id);
    EXPECT_GT(core.judgement.conduct().score(peer(liar()).id, net.now()), before);
    if (core.judgement.conduct().bad(peer(liar()).id, net.now())) break;
  }
  run(seconds(8));
  expect_undisturbed();
}

// A correct proposer would have to take over what a promise tells of.
TEST_P(ProposalTest, NorIsItTakenOverFromAPromise) {
  form_group();
  const PeerId victim = peer(1).id;
  ViewValue lie = same(0);
  remove(lie, victim, DepartureCause::kExpelled);
  const auto& core = peer(0).membership->core();
  // The liar's own membership says nothing; of a group of five one more has to promise.
  const_cast<Membership::Core&>(peer(liar()).membership->core()).branching.retire();
  for (std::size_t i = 1; i + 2 < peers.size(); ++i) net.block(peer(i).id, peer(0).id);
  if (peers.size() == 3) net.block(peer(1).id, peer(0).id);
  peer(0).membership->reorder(net.now());
  run(milliseconds(20));
  ASSERT_TRUE(core.balloting.agreement()->proposing());
  PromiseMessage promise{
      peer(0).view().id, core.balloting.agreement()->promised(), {Round(8), {}}, {}};
  promise.accepted = AcceptedValue{Ballot{99, peer(liar()).id}, lie};
  if (GetParam().brief) promise.difference = difference_to(run_id(), peer(0).view(), lie);
  say(0, frame_type::kPromise, promise);
  run(milliseconds(20));
  if (core.balloting.agreement() && core.balloting.agreement()->accepted()) {
    EXPECT_NE(core.balloting.agreement()->accepted()->value, lie);
  }
  net.unblock_all();
  run(seconds(20));
  expect_undisturbed();
}

// Nor does one make it begin below what it has committed itself.
TEST_P(ProposalTest, APromiseBelowWhatIsCommittedDoesNotCount) {
  form_group();
  peer(liar()).status.done = Round(3);
  for (std::size_t i = 1; i + 2 < peers.size(); ++i) net.block(peer(i).id, peer(0).id);
  if (peers.size() == 3) net.block(peer(1).id, peer(0).id);
  peer(0).membership->reorder(net.now());
  run(milliseconds(100));
  net.unblock_all();
  run(seconds(20));
  expect_undisturbed();
  EXPECT_GE(peer(0).view().base_round, Round(7));
}

// --- Differences that are none.

// It is put together, compared with the hash that it names, and never voted for.
TEST_P(ProposalTest, ADifferenceThatDoesNotGiveItsHashEndsTheLink) {
  form_group();
  ++counter;
  const ViewId view = peer(0).view().id;
  const Ballot ballot{counter, peer(liar()).id};
  const double before =
      peer(0).membership->core().judgement.conduct().score(peer(liar()).id, net.now());
  AcceptMessage accept{view, ballot, {}};
  accept.difference = difference_to(run_id(), peer(0).view(), same(0));
  accept.difference->next[3] ^= 1U;
  say(0, frame_type::kPrepare, PrepareMessage{view, ballot});
  say(0, frame_type::kAccept, accept);
  run(milliseconds(20));
  const auto& core = peer(0).membership->core();
  EXPECT_FALSE(core.balloting.agreement()->accepted().has_value());
  EXPECT_GT(core.judgement.conduct().score(peer(liar()).id, net.now()), before);
  ASSERT_FALSE(peer(0).closed.empty());
  EXPECT_THAT(peer(0).closed.back().message(), HasSubstr("difference.next"));
  run(seconds(8));
  expect_undisturbed();
}

TEST_P(ProposalTest, NorDoesOneThatFitsNoViewOfTheseMembers) {
  form_group();
  ViewNoticeMessage notice{peer(0).view().id, {}, {}};
  notice.view = {peer(0).view().id.number.next(), {1}};
  notice.difference.emplace();
  notice.difference->going = {200};
  say(0, frame_type::kViewNotice, notice);
  run(milliseconds(20));
  ASSERT_FALSE(peer(0).closed.empty());
  EXPECT_THAT(peer(0).closed.back().message(), HasSubstr("difference.going"));
  run(seconds(8));
  expect_undisturbed();
}

// What it changes is in a view that nobody is in: it is asked for, and no word of any view.
TEST_P(ProposalTest, ADifferenceFromAnUnknownViewChangesNothing) {
  form_group();
  for (const bool later : {false, true}) {
    View unknown = peer(0).view();
    unknown.id.number = ViewNumber(later ? 1'000'000 : unknown.id.number.value());
    unknown.id.hash[0] ^= 1U;
    ViewNoticeMessage notice{unknown.id, {}, {}};
    notice.view = next_view_id(run_id(), unknown.id, same(0));
    notice.difference = difference_to(run_id(), unknown, same(0));
    AcceptMessage accept{unknown.id, {++counter, peer(liar()).id}, {}};
    accept.difference = notice.difference;
    PromiseMessage promise{unknown.id, accept.ballot, {Round(7), {}}, {}, notice.difference};
    promise.accepted.emplace();
    for (std::size_t i = 0; i < liar(); ++i) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        say(i, frame_type::kViewNotice, notice);
        say(i, frame_type::kAccept, accept);
        say(i, frame_type::kPromise, promise);
      }
    }
    run(seconds(2));
    for (std::size_t i = 0; i < liar(); ++i) {
      const auto& core = peer(i).membership->core();
      EXPECT_FALSE(core.evidence.waits()) << i;
      EXPECT_FALSE(core.balloting.agreement()->accepted().has_value()) << i;
      EXPECT_TRUE(peer(i).closed.empty()) << i;
    }
  }
  expect_undisturbed();
}

// --- What correct members propose still comes about.

TEST_F(ProposalTest, WhoMissedAnAccusationHearsItWhileTheViewChanges) {
  form(5);
  // Two of four others are not enough; with a third they are, and 3 hears of two of these late.
  for (const std::size_t by : {0U, 1U}) net.block(peer(by).id, peer(3).id);
  for (const std::size_t by : {0U, 1U}) {
    ASSERT_TRUE(peer(by).expel(peer(4).id, "it lies about its data").ok());
  }
  net.unblock_all();
  run(milliseconds(100));
  ASSERT_TRUE(peer(2).expel(peer(4).id, "it lies about its data").ok());
  run(seconds(5));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(peer(i).view().size(), 4) << i;
    EXPECT_NE(peer(i).membership->core().bans.revocations().ban_reason(peer(4).id), nullptr) << i;
  }
}

// An accuser is gone before it was heard by all: the others cannot ask it, and go on.
TEST_F(ProposalTest, AVerdictOutlivesAnAccuser) {
  form(6);
  for (const std::size_t deaf : {3U, 4U}) net.block(peer(0).id, peer(deaf).id);
  // It dies before it can vote on it.
  const_cast<Membership::Core&>(peer(0).membership->core()).branching.retire();
  for (const std::size_t by : {0U, 1U, 2U}) {
    ASSERT_TRUE(peer(by).expel(peer(5).id, "it lies about its data").ok());
  }
  run(milliseconds(200));
  ASSERT_TRUE(peer(2).membership->core().balloting.is_convicted(peer(5).id));
  ASSERT_FALSE(peer(3).membership->core().balloting.is_convicted(peer(5).id));
  net.crash(peer(0).id, SimCrash::kKilled);
  net.unblock_all();
  run(seconds(20));
  for (const std::size_t i : {1U, 2U, 3U, 4U}) {
    EXPECT_EQ(peer(i).state(), MembershipState::kMember) << i;
    EXPECT_EQ(peer(i).view().size(), 4) << i;
    EXPECT_NE(peer(i).membership->core().bans.revocations().ban_reason(peer(5).id), nullptr) << i;
  }
}

}  // namespace
}  // namespace weft::membership_proposal_test
