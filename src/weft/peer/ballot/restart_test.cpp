// Processes that are started again with the record of the life before: what they still may say, and
// how a group that waits for a quorum goes on by them.
#include <algorithm>
#include <deque>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/agreement.h"
#include "weft/peer/test_peer.h"
#include "weft/wire/frame_type.h"

namespace weft::restart_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

RoundStatus done_with(std::uint64_t round) { return {Round(round), {}}; }

View view_of_three(std::uint64_t base) {
  View view;
  view.id.number = ViewNumber(4);
  view.base_round = Round(base);
  for (std::uint32_t i = 0; i < 3; ++i) view.members.push_back({test_peer_id(i), 1, {}});
  return view;
}

TEST(RestartedVoter, KeepsWhatItPromisedAndTellsWhatItAccepted) {
  const View view = view_of_three(0);
  Agreement first(view, view.members[0].id);
  Agreement before(view, view.members[1].id);
  const PrepareMessage prepare = first.start(2);
  ASSERT_TRUE(std::holds_alternative<PromiseMessage>(before.on_prepare(prepare, done_with(3))));
  AcceptMessage accept{view.id, prepare.ballot, {}};
  accept.value.members = {view.members[0]};
  ASSERT_TRUE(std::holds_alternative<AcceptedMessage>(before.on_accept(accept)));

  Agreement after(view, view.members[1].id);
  after.resume(before.promised(), before.accepted());
  const PrepareMessage older{view.id, Ballot{0, view.members[2].id}};
  EXPECT_TRUE(
      std::holds_alternative<RejectedMessage>(after.on_prepare(older, done_with(kHoldsNothing))));
  const PrepareMessage newer{view.id, Ballot{9, view.members[2].id}};
  const auto promise = std::get<PromiseMessage>(after.on_prepare(newer, done_with(kHoldsNothing)));
  ASSERT_TRUE(promise.accepted.has_value());
  EXPECT_EQ(promise.accepted->value, accept.value);
}

TEST(RestartedVoter, DoesNotCountForTheBaseRound) {
  const View view = view_of_three(5);
  Agreement proposer(view, view.members[0].id);
  const PrepareMessage prepare = proposer.start(2);
  const auto promise = [&](std::uint64_t round) {
    return PromiseMessage{view.id, prepare.ballot, done_with(round), std::nullopt};
  };
  EXPECT_FALSE(proposer.on_promise(view.members[1].id, promise(kHoldsNothing)));
  EXPECT_FALSE(proposer.on_promise(view.members[2].id, promise(kHoldsNothing)))
      << "two of them, and nobody tells of a round";
  EXPECT_TRUE(proposer.on_promise(view.members[0].id, promise(8)));
  EXPECT_EQ(proposer.fresh_base(), Round(8));
}

// Machines whose processes may be ended and started again.
class RestartTest : public ::testing::Test {
 protected:
  MembershipOptions options_of(std::uint32_t number) const {
    MembershipOptions options = base;
    options.self = test_peer_id(number);
    return options;
  }
  void form(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      peers.push_back(std::make_unique<TestPeer>(net, options_of(i), 3));
    }
    peer(0).found();
    for (std::uint32_t i = 1; i < count; ++i) {
      peer(i).join(peer(0).ticket());
      run(seconds(1));
    }
    ASSERT_EQ(peer(count - 1).view().size(), static_cast<int>(count));
  }
  TestPeer& peer(std::size_t i) { return *peers[i]; }
  void run(Duration duration) { net.run_until(net.now() + duration); }
  bool run_until(const std::function<bool()>& done, Duration limit) {
    const TimePoint end = net.now() + limit;
    while (!done() && net.now() < end) run(milliseconds(10));
    return done();
  }
  void kill(std::size_t i) { net.crash(peer(i).id, SimCrash::kPowerLoss); }
  // With its record, unless `forget`.
  TestPeer& restart(std::size_t i, const Ticket& ticket, bool forget = false) {
    MembershipOptions options = options_of(static_cast<std::uint32_t>(i));
    options.incarnation = clock_of_restarts;
    if (!forget) options.past = peer(i).left_behind();
    graveyard.push_back(std::move(peers[i]));
    peers[i] = std::make_unique<TestPeer>(net, std::move(options), 4);
    peer(i).join(ticket);
    return peer(i);
  }
  bool all_in(int members) {
    return std::all_of(peers.begin(), peers.end(), [&](const auto& p) {
      return p->state() == MembershipState::kMember && p->view().size() == members &&
             p->view().id == peers[0]->view().id;
    });
  }
  std::size_t breaker() { return tie_breaker(base.run, peer(0).view()) == peer(0).id ? 0 : 1; }

  MembershipOptions base = test_membership({});
  // As if all clocks had been set back.
  std::uint64_t clock_of_restarts = 1;
  SimNetwork net{SimNetworkOptions{}};
  std::vector<std::unique_ptr<TestPeer>> peers;
  std::vector<std::unique_ptr<TestPeer>> graveyard;
};

TEST_F(RestartTest, HalfOfFourKilledAndStartedAgainGoOnByThemselves) {
  form(4);
  for (const std::size_t i : {0U, 1U}) peer(i).status = done_with(7);
  kill(2);
  kill(3);
  run(seconds(9));
  ASSERT_EQ(peer(0).state(), MembershipState::kIsolated);
  restart(2, peer(1).ticket());
  ASSERT_TRUE(run_until([&] { return peer(2).state() == MembershipState::kMember; }, seconds(8)));
  EXPECT_EQ(peer(0).view().size(), 3);
  EXPECT_EQ(peer(0).quorums_back, 1);
  // What the restarted one does not hold counts for nothing.
  EXPECT_EQ(peer(0).view().base_round, Round(7));
  restart(3, peer(1).ticket());
  EXPECT_TRUE(run_until([&] { return all_in(4); }, seconds(8)));
}

TEST_F(RestartTest, OneThatIsLeftGoesOnWhenAMajorityIsBackThoughNobodyElseLived) {
  form(5);
  for (const std::size_t i : {1U, 2U, 3U, 4U}) kill(i);
  run(seconds(9));
  ASSERT_EQ(peer(0).state(), MembershipState::kIsolated);
  const Ticket ticket = peer(0).ticket();
  restart(1, ticket);
  // Its patience follows from the answers that it gets.
  run(base.join_timeout + seconds(5));
  EXPECT_EQ(peer(1).state(), MembershipState::kJoining);
  EXPECT_FALSE(peer(1).join_failed.has_value());
  ASSERT_FALSE(peer(1).waits.empty());
  EXPECT_THAT(peer(1).waits.back(), HasSubstr("2 of 5 members are here, 3 are needed"));
  restart(2, ticket);
  EXPECT_TRUE(run_until([&] { return peer(2).state() == MembershipState::kMember; }, seconds(10)));
  restart(3, ticket);
  restart(4, ticket);
  EXPECT_TRUE(run_until([&] { return all_in(5); }, seconds(10)));
}

TEST_F(RestartTest, OfTwoTheTieBreakerMayBeStartedAgain) {
  form(2);
  const std::size_t breaks = breaker();
  kill(breaks);
  run(seconds(9));
  ASSERT_EQ(peer(1 - breaks).state(), MembershipState::kIsolated);
  restart(breaks, peer(1 - breaks).ticket());
  EXPECT_TRUE(run_until([&] { return all_in(2); }, seconds(8)));
}

TEST_F(RestartTest, OfTwoTheOtherOneMayBeStartedAgain) {
  form(2);
  const std::size_t other = 1 - breaker();
  kill(other);
  run(seconds(4));
  restart(other, peer(1 - other).ticket());
  EXPECT_TRUE(run_until([&] { return all_in(2); }, seconds(8)));
}

TEST_F(RestartTest, WithoutItsRecordARestartedOneIsNoVoterAndTheOthersSaySo) {
  form(2);
  const std::size_t breaks = breaker();
  kill(breaks);
  run(milliseconds(100));
  clock_of_restarts = 100;
  restart(breaks, peer(1 - breaks).ticket(), true);
  TestPeer& left = peer(1 - breaks);
  run(base.join_timeout + seconds(2));
  EXPECT_EQ(left.state(), MembershipState::kIsolated);
  ASSERT_TRUE(left.isolated.has_value());
  EXPECT_THAT(left.isolated->text, HasSubstr("started again, and has no vote here"));
  EXPECT_TRUE(peer(breaks).join_failed.has_value());
}

// It had gone on alone, and then died: nobody else has what it had.
TEST_F(RestartTest, WhoWasAloneInItsLastViewIsToldToResume) {
  form(2);
  const std::size_t breaks = breaker();
  net.partition({{peer(0).id}, {peer(1).id}});
  ASSERT_TRUE(run_until([&] { return peer(breaks).view().size() == 1; }, seconds(8)));
  run(seconds(1));
  kill(breaks);
  net.unblock_all();
  run(seconds(8));
  restart(breaks, peer(1 - breaks).ticket());
  run(base.join_timeout + seconds(1));
  ASSERT_TRUE(peer(breaks).join_failed.has_value());
  EXPECT_THAT(peer(breaks).join_failed->message(), HasSubstr("weft run --resume"));
  EXPECT_EQ(peer(1 - breaks).state(), MembershipState::kIsolated);
}

TEST_F(RestartTest, AnOldTicketWillDoSinceTheRecordNamesTheMembers) {
  form(3);
  const Ticket own = [&] {
    Ticket ticket = peer(2).ticket();
    ticket.members = {{peer(2).id, {"sim:nowhere"}}};
    return ticket;
  }();
  kill(2);
  run(seconds(4));
  restart(2, own);
  EXPECT_TRUE(run_until([&] { return all_in(3); }, seconds(8)));
}

TEST_F(RestartTest, IncarnationsDoNotRepeatThoughTheClockIsSetBack) {
  form(3);
  std::set<std::uint64_t> lives;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(lives.insert(peer(2).membership->record().incarnation).second);
    kill(2);
    restart(2, peer(0).ticket());
    ASSERT_TRUE(run_until([&] { return all_in(3); }, seconds(10)));
  }
}

TEST_F(RestartTest, NothingIsPromisedThatCannotBeKept) {
  form(3);
  for (const std::size_t i : {1U, 2U}) peer(i).disk_broken = true;
  const ViewId before = peer(0).view().id;
  kill(1);
  run(seconds(3));
  // Two voters are there, and one of them does not answer.
  EXPECT_EQ(peer(0).view().id, before);
  peer(2).disk_broken = false;
  EXPECT_TRUE(run_until([&] { return peer(0).view().size() == 2; }, seconds(8)));
}

TEST_F(RestartTest, PromisesAndAcceptancesAreSyncedAndIdleGroupsWriteNothing) {
  form(3);
  run(seconds(1));
  const int before = peer(2).syncs;
  run(seconds(5));
  EXPECT_EQ(peer(2).syncs, before);
  kill(1);
  run(seconds(3));
  EXPECT_GE(peer(2).syncs, before + 2);
  EXPECT_LE(peer(2).syncs, before + 6);
}

TEST_F(RestartTest, BansAreKept) {
  form(4);
  for (const std::size_t i : {0U, 1U}) ASSERT_TRUE(peer(i).expel(peer(3).id, "test").ok());
  ASSERT_TRUE(run_until([&] { return peer(2).view().size() == 3; }, seconds(5)));
  run(seconds(1));
  const auto record = peer(2).left_behind();
  ASSERT_TRUE(record.has_value());
  ASSERT_EQ(record->revocations.bans.size(), 1U);
  EXPECT_EQ(record->revocations.bans[0].peer, peer(3).id);
  // A run that goes on from this one takes them over.
  MembershipOptions options = options_of(9);
  options.run = sha256(as_bytes("next run"));
  options.past = record;
  TestPeer founder(net, std::move(options), 5);
  founder.found();
  EXPECT_EQ(founder.membership->record().revocations.bans.size(), 1U);
  net.crash(founder.id, SimCrash::kKilled);
}

TEST_F(RestartTest, AHolderOfAnOldTicketIsGivenOneOfTheRunThatGoesOn) {
  form(2);
  const Ticket old = peer(0).ticket();
  MembershipOptions options = options_of(0);
  kill(0);
  kill(1);
  options.run = sha256(as_bytes("next run"));
  options.past = peer(0).left_behind();
  ASSERT_TRUE(options.past.has_value());
  TestPeer founder(net, std::move(options), 5);
  founder.found();
  struct Asker : TestPeer {
    using TestPeer::TestPeer;
    void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
      if (frame.type != frame_type::kRecipe) return TestPeer::on_frame(from, lane, frame);
      answer = *RecipeMessage::decode(frame.head);
    }
    void on_link_up(const LinkInfo& up) override { link = up; }
    std::optional<LinkInfo> link;
    std::optional<RecipeMessage> answer;
  };
  Asker asker(net, options_of(5), 6);
  asker.connect({founder.id, {net.endpoint(founder.id)}});
  ASSERT_TRUE(run_until([&] { return asker.link.has_value(); }, seconds(2)));
  const ProofLink link{asker.id, founder.id, asker.link->exporter};
  RecipeRequestMessage request{make_proof(old, ProofPurpose::kRecipe, link)};
  asker.send(founder.id, Frame{frame_type::kRecipeRequest, request.encode(), {}});
  ASSERT_TRUE(run_until([&] { return asker.answer.has_value(); }, seconds(2)));
  ASSERT_TRUE(asker.answer->successor.has_value());
  EXPECT_EQ(asker.answer->successor->run, sha256(as_bytes("next run")));
  // Without a proof of the old run nothing is given.
  asker.answer.reset();
  request.proof.hmac[0] ^= 1U;
  asker.send(founder.id, Frame{frame_type::kRecipeRequest, request.encode(), {}});
  run(seconds(1));
  EXPECT_FALSE(asker.answer.has_value());
  net.crash(founder.id, SimCrash::kKilled);
  net.crash(asker.id, SimCrash::kKilled);
}

// --- The turns of newcomers.

class QueueTest : public RestartTest {
 protected:
  TestPeer& newcomer(std::uint32_t number) {
    peers.push_back(std::make_unique<TestPeer>(net, options_of(number), number));
    peers.back()->hold_sync = true;
    peers.back()->join(peer(0).ticket());
    run(milliseconds(20));
    return *peers.back();
  }
  // Each of them comes further all the time.
  void work(Duration time) {
    const TimePoint end = net.now() + time;
    while (net.now() < end) {
      for (const auto& p : peers) ++p->progress;
      run(milliseconds(500));
    }
  }
};

TEST_F(QueueTest, WhoWaitsIsToldItsPlaceAndDoesNotGiveUp) {
  form(1);
  for (std::uint32_t i = 1; i <= 5; ++i) newcomer(i);
  work(base.join_timeout * 2);
  for (std::size_t i = 3; i <= 5; ++i) {
    EXPECT_FALSE(peer(i).join_failed.has_value()) << i;
    ASSERT_FALSE(peer(i).waits.empty()) << i;
    EXPECT_THAT(peer(i).waits.back(), HasSubstr("place " + std::to_string(i - 2) + " of 3")) << i;
  }
  // In the order in which they came.
  for (std::size_t i = 1; i <= 5; ++i) {
    peer(i).let_sync();
    ASSERT_TRUE(run_until([&] { return peer(i).state() == MembershipState::kMember; }, seconds(5)))
        << i;
    run(seconds(3));
  }
}

TEST_F(QueueTest, WhoComesNoFurtherLosesItsTurnWhenOthersWait) {
  form(2);
  TestPeer& first = newcomer(2);
  TestPeer& second = newcomer(3);
  run(base.join_stall_timeout * 2);
  EXPECT_EQ(first.sponsors.size(), 1U) << "nobody waits";
  TestPeer& third = newcomer(4);
  ASSERT_TRUE(run_until([&] { return !third.sponsors.empty(); }, seconds(5)));
  third.let_sync();
  EXPECT_TRUE(run_until([&] { return third.state() == MembershipState::kMember; }, seconds(5)));
  EXPECT_FALSE(first.join_failed.has_value());
  EXPECT_FALSE(second.join_failed.has_value());
}

TEST_F(QueueTest, ATurnEndsAlsoForOneThatGoesOnForever) {
  base.join_turn = seconds(40);
  form(1);
  newcomer(1);
  newcomer(2);
  TestPeer& third = newcomer(3);
  work(seconds(30));
  EXPECT_TRUE(third.sponsors.empty());
  work(seconds(20));
  EXPECT_EQ(third.sponsors.size(), 1U);
}

TEST_F(QueueTest, WhileStatesAreGatheredAllAreLetIn) {
  form(1);
  peer(0).membership->gather(true);
  for (std::uint32_t i = 1; i <= 6; ++i) EXPECT_EQ(newcomer(i).sponsors.size(), 1U) << i;
}

}  // namespace
}  // namespace weft::restart_test
