// Who is let in, who is put out, and how the members agree on it.
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_seeds.h"
#include "weft/peer/test_peer_group.h"
#include "weft/wire/frame_type.h"

namespace weft::membership_conduct_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

class MembershipConductTest : public PeerGroupTest {
 protected:
  MembershipOptions options_of(std::uint32_t number) const override {
    MembershipOptions options = PeerGroupTest::options_of(number);
    options.invite = invite;
    options.allowed = allowed;
    return options;
  }
  // A frame that does not decode, `times` times, each over a link of its own.
  void send_garbage(std::size_t from, std::size_t to, int times) {
    for (int i = 0; i < times; ++i) {
      Frame garbage{frame_type::kHeartbeat, Bytes{1, 2, 3}, {}};
      // Once it is put out there is no link any more.
      (void)peer(from).transport.send(peer(to).id, Lane::kControl, garbage);
      run(seconds(1));
    }
  }
  // How many of `count` members have `who` in their view.
  int holders(std::size_t who, std::size_t count) {
    int holding = 0;
    for (std::size_t i = 0; i < count; ++i)
      holding += peer(i).view().contains(peer(who).id) ? 1 : 0;
    return holding;
  }

  InviteMode invite = InviteMode::kTicket;
  std::set<PeerId> allowed;
};

TEST_F(MembershipConductTest, WhoSendsGarbageToMostOfTheOthersIsPutOut) {
  form(4);
  send_garbage(3, 0, 3);
  EXPECT_EQ(holders(3, 3), 3) << "one member's word is not enough";
  send_garbage(3, 1, 3);
  run(seconds(2));
  EXPECT_EQ(holders(3, 3), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(peer(i).state(), MembershipState::kMember);
    const Departure& left = peer(i).changes.back().left.at(0);
    EXPECT_EQ(left.cause, DepartureCause::kExpelled);
    EXPECT_THAT(to_string(left), HasSubstr("was expelled (2 of 3 others accuse it: malformed"));
  }
  ASSERT_TRUE(peer(3).removed.has_value());
  EXPECT_THAT(peer(3).removed->message(), HasSubstr("accuse it"));
  // The evidence: what was seen here, and what others say.
  EXPECT_THAT(peer(0).reports.front().evidence, HasSubstr("heartbeat"));
  EXPECT_FALSE(peer(0).reports.front().accusation);
  EXPECT_TRUE(peer(2).reports.back().accusation);
}

// It goes on speaking as a member until it hears that it is none any more.
TEST_F(MembershipConductTest, WhoIsPutOutWhileItHearsNothingIsNotBlamedForGoingOn) {
  form(4);
  for (std::size_t i = 0; i < 3; ++i) net.block(peer(i).id, peer(3).id);
  run(seconds(8));
  EXPECT_EQ(holders(3, 3), 0);
  net.unblock_all();
  run(seconds(5));
  for (const auto& each : peers) {
    for (const Misconduct& report : each->reports) {
      EXPECT_EQ(report.offence, Offence::kFalseSuspicion) << report.evidence;
    }
  }
}

TEST_F(MembershipConductTest, TheExpelledStaysOut) {
  form(4);
  send_garbage(3, 0, 3);
  send_garbage(3, 1, 3);
  run(seconds(2));
  ASSERT_TRUE(peer(3).removed.has_value());
  // Not even through a member that was not among the accusers, nor through one that came later.
  TestPeer& later = add(7);
  later.join(peer(2).ticket());
  run(seconds(2));
  ASSERT_EQ(later.state(), MembershipState::kMember);
  for (const std::size_t sponsor : {2U, 4U}) {
    Ticket ticket = peer(sponsor).ticket();
    ticket.members.resize(1);
    peer(3).join_failed.reset();
    peer(3).join(ticket);
    run(seconds(2));
    ASSERT_TRUE(peer(3).join_failed.has_value()) << sponsor;
    EXPECT_THAT(peer(3).join_failed->message(), HasSubstr("put this peer out of the run"));
  }
}

TEST_F(MembershipConductTest, OneMemberPutsNobodyOut) {
  form(5);
  send_garbage(4, 0, 6);
  run(seconds(20));
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(peer(i).view().size(), 5) << i;
  EXPECT_TRUE(peer(1).reports.back().accusation);
  EXPECT_EQ(peer(1).reports.back().by, peer(0).id);
}

TEST_F(MembershipConductTest, WhoHasSeenAPartJoinsTheAccusation) {
  form(4);
  send_garbage(3, 0, 1);
  EXPECT_EQ(holders(3, 3), 3);
  ASSERT_TRUE(peer(1).expel(peer(3).id, "it lies about its data").ok());
  run(seconds(2));
  EXPECT_EQ(holders(3, 3), 0);
}

TEST_F(MembershipConductTest, PeopleExpelByMajority) {
  form(4);
  const Result<std::string> first = peer(0).expel(peer(2).id, "it is not ours");
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(*first, HasSubstr("1 of 3 others accuse"));
  EXPECT_THAT(*first, HasSubstr("once 2 do"));
  run(seconds(5));
  EXPECT_EQ(peer(0).view().size(), 4);
  const Result<std::string> second = peer(3).expel(peer(2).id, "nor mine");
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(*second, HasSubstr("is expelled"));
  run(seconds(2));
  for (const std::size_t i : {0U, 1U, 3U}) EXPECT_EQ(peer(i).view().size(), 3) << i;
  EXPECT_FALSE(peer(0).expel(peer(2).id, "again").ok());
  EXPECT_FALSE(peer(0).expel(peer(0).id, "itself").ok());
}

TEST_F(MembershipConductTest, AnAccusationIsToldAgainToWhoeverMissedIt) {
  form(4);
  net.block(peer(0).id, peer(1).id);
  ASSERT_TRUE(peer(0).expel(peer(3).id, "first").ok());
  run(milliseconds(400));
  net.unblock_all();
  ASSERT_TRUE(peer(1).expel(peer(3).id, "second").ok());
  run(seconds(8));
  EXPECT_EQ(holders(3, 3), 0);
}

TEST_F(MembershipConductTest, ARestartDoesNotWipeTheScore) {
  form(4);
  send_garbage(3, 0, 3);
  net.crash(peer(3).id, SimCrash::kKilled);
  MembershipOptions options = test_membership(peer(3).id);
  options.incarnation = 2;
  const Ticket ticket = peer(1).ticket();
  peers[3].reset();
  peers[3] = std::make_unique<TestPeer>(net, std::move(options), 8);
  peer(3).join(ticket);
  run(seconds(3));
  ASSERT_EQ(peer(3).state(), MembershipState::kMember);
  send_garbage(3, 0, 1);
  send_garbage(3, 1, 3);
  run(seconds(2));
  EXPECT_EQ(holders(3, 3), 0);
}

TEST_F(MembershipConductTest, ARevokedTicketLetsNobodyInAnywhere) {
  form(3);
  const InvitationId bad{7};
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < 3; ++i) {
    tickets.push_back(peer(i).ticket(bad));
    tickets.back().members.resize(1);
  }
  ASSERT_TRUE(peer(1).revoke(bad).ok());
  ASSERT_TRUE(peer(1).revoke(bad).ok()) << "twice is once";
  run(seconds(1));
  EXPECT_EQ(peer(2).revoked, std::vector<InvitationId>{bad});
  TestPeer& holder = add(9);
  for (const Ticket& ticket : tickets) {
    holder.join_failed.reset();
    holder.join(ticket);
    run(seconds(1));
    ASSERT_TRUE(holder.join_failed.has_value());
    EXPECT_THAT(holder.join_failed->message(), HasSubstr("revoked this ticket"));
  }
  // Another ticket is good, and whoever comes in by it knows what was revoked before.
  TestPeer& newcomer = add(10);
  newcomer.join(peer(0).ticket());
  run(seconds(2));
  ASSERT_EQ(newcomer.state(), MembershipState::kMember);
  Ticket through_newcomer = newcomer.ticket(bad);
  through_newcomer.members.resize(1);
  holder.join_failed.reset();
  holder.join(through_newcomer);
  run(seconds(1));
  ASSERT_TRUE(holder.join_failed.has_value());
  EXPECT_THAT(holder.join_failed->message(), HasSubstr("revoked this ticket"));
}

TEST_F(MembershipConductTest, ATicketStandsUntilItIsOverOrRevokedOrAltered) {
  form(3);
  const std::int64_t now = net.clock().unix_time_s();
  const auto stands = [&](std::size_t at, const Ticket& ticket, std::int64_t when) {
    return peer(at).membership->stands(ticket, when);
  };
  const Ticket ticket = peer(0).ticket(InvitationId{7});
  EXPECT_TRUE(stands(0, ticket, now));
  EXPECT_TRUE(stands(2, ticket, now));
  EXPECT_FALSE(stands(0, ticket, ticket.expiry_unix_s));
  Ticket altered = ticket;
  altered.expiry_unix_s += 1;
  EXPECT_FALSE(stands(0, altered, now));
  altered = ticket;
  altered.run[0] ^= 1U;
  EXPECT_FALSE(stands(0, altered, now));
  const Ticket other = peer(0).ticket(InvitationId{8});
  ASSERT_TRUE(peer(1).revoke(InvitationId{7}).ok());
  run(seconds(1));
  EXPECT_FALSE(stands(0, ticket, now));
  EXPECT_TRUE(stands(0, other, now));
  ASSERT_TRUE(peer(1).revoke(kAllInvitations).ok());
  run(seconds(1));
  EXPECT_FALSE(stands(0, other, now));
}

TEST_F(MembershipConductTest, AllTicketsCanBeRevokedAtOnce) {
  form(3);
  const Ticket before = peer(0).ticket();
  ASSERT_TRUE(peer(1).revoke(kAllInvitations).ok());
  run(seconds(1));
  EXPECT_EQ(peer(2).revoked, std::vector<InvitationId>{kAllInvitations});
  TestPeer& holder = add(9);
  holder.join(before);
  run(seconds(2));
  ASSERT_TRUE(holder.join_failed.has_value());
  // New tickets are good at every member, and a newcomer makes good ones, too.
  holder.join(peer(2).ticket());
  run(seconds(2));
  ASSERT_EQ(holder.state(), MembershipState::kMember);
  TestPeer& next = add(10);
  next.join(holder.ticket());
  run(seconds(2));
  EXPECT_EQ(next.state(), MembershipState::kMember);
  // A second renewal by another member wins over the first.
  const Ticket second = peer(1).ticket();
  ASSERT_TRUE(holder.revoke(kAllInvitations).ok());
  run(seconds(1));
  TestPeer& last = add(11);
  last.join(second);
  run(seconds(2));
  EXPECT_TRUE(last.join_failed.has_value());
  last.join(peer(0).ticket());
  run(seconds(2));
  EXPECT_EQ(last.state(), MembershipState::kMember);
}

TEST_F(MembershipConductTest, ARevocationGoesRoundABrokenLink) {
  form(4);
  net.block(peer(0).id, peer(2).id);
  ASSERT_TRUE(peer(0).revoke(InvitationId{5}).ok());
  run(milliseconds(300));
  EXPECT_EQ(peer(2).revoked.size(), 1U);
  net.unblock_all();
}

TEST_F(MembershipConductTest, ARevocationEndsJoinsUnderWay) {
  form(2);
  TestPeer& late = add(9);
  late.hold_sync = true;
  late.join(peer(0).ticket(InvitationId{3}));
  run(milliseconds(300));
  ASSERT_EQ(late.state(), MembershipState::kSyncing);
  ASSERT_TRUE(peer(1).revoke(InvitationId{3}).ok());
  run(seconds(1));
  EXPECT_EQ(peer(0).joiners_gone, std::vector<PeerId>{late.id});
}

TEST_F(MembershipConductTest, AnOpenRunAsksForNoTicket) {
  invite = InviteMode::kOpen;
  form(2);
  TestPeer& guest = add(9);
  Ticket made_up = peer(0).ticket();
  made_up.secret = {};
  made_up.expiry_unix_s = 0;
  guest.join(made_up);
  run(seconds(2));
  EXPECT_EQ(guest.state(), MembershipState::kMember);
}

TEST_F(MembershipConductTest, AnAllowListAsksForTheKeyAlone) {
  invite = InviteMode::kAllowlist;
  allowed = {test_peer_id(0), test_peer_id(1), test_peer_id(9)};
  form(2);
  Ticket made_up = peer(0).ticket();
  made_up.secret = {};
  TestPeer& listed = add(9);
  listed.join(made_up);
  run(seconds(2));
  EXPECT_EQ(listed.state(), MembershipState::kMember);
  TestPeer& other = add(8);
  other.join(peer(0).ticket());
  run(seconds(2));
  ASSERT_TRUE(other.join_failed.has_value());
  EXPECT_THAT(other.join_failed->message(), HasSubstr(other.id.to_string()));
}

// One liar among 4 to 9 members, with crashes and joins from the seed: the liar goes, nobody else
// is expelled, and the honest agree.
TEST(MembershipConductSeeds, OnlyTheLiarIsExpelled) {
  for (const std::uint64_t seed : TestSeeds(1, 40)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    SimNetworkOptions network;
    network.seed = seed;
    SimNetwork net(network);
    std::vector<std::unique_ptr<TestPeer>> peers;
    const auto add = [&](std::uint32_t number) {
      peers.push_back(std::make_unique<TestPeer>(net, test_membership(test_peer_id(number)), seed));
    };
    const auto run = [&](Duration time) { net.run_until(net.now() + time); };
    const auto count = static_cast<std::uint32_t>(4 + rng.below(6));
    add(0);
    peers[0]->found();
    for (std::uint32_t i = 1; i < count; ++i) {
      add(i);
      peers[i]->join(peers[0]->ticket());
      run(seconds(1));
    }
    const auto liar = static_cast<std::size_t>(1 + rng.below(count - 1));
    std::optional<std::size_t> dead;
    for (int step = 0; step < 400 && !peers[liar]->removed; ++step) {
      const std::size_t to = rng.below(peers.size());
      Frame garbage{frame_type::kPromise, Bytes(1 + rng.below(40), 0xee), {}};
      // Without a link there is nothing to send on.
      (void)peers[liar]->transport.send(peers[to]->id, Lane::kControl, std::move(garbage));
      run(milliseconds(static_cast<std::int64_t>(50 + rng.below(200))));
      const std::size_t victim = rng.below(count);
      if (count >= 6 && !dead && step == 5 && victim != liar) {
        dead = victim;
        net.crash(peers[victim]->id, SimCrash::kKilled);
      }
      if (step == 8 && dead != 0U) {
        add(100);
        peers.back()->join(peers[0]->ticket());
      }
    }
    run(seconds(5));
    ASSERT_TRUE(peers[liar]->removed.has_value());
    const View* agreed = nullptr;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (i == liar || i == dead) continue;
      ASSERT_EQ(peers[i]->state(), MembershipState::kMember) << i;
      EXPECT_FALSE(peers[i]->view().contains(peers[liar]->id)) << i;
      if (agreed == nullptr) agreed = &peers[i]->view();
      EXPECT_EQ(peers[i]->view().id, agreed->id) << i;
      for (const ViewChange& change : peers[i]->changes) {
        for (const Departure& left : change.left) {
          EXPECT_TRUE(left.cause != DepartureCause::kExpelled || left.id == peers[liar]->id) << i;
        }
      }
    }
  }
}

TEST_F(MembershipConductTest, AStrangerWithForgedTicketsGetsNoLinkAnyMore) {
  form(2);
  TestPeer& forger = add(9);
  Ticket forged = peer(0).ticket();
  forged.members.resize(1);
  forged.secret[0] ^= 1U;
  // A second one on the same link is not answered: the link ends.
  for (int i = 0; i < 3; ++i) {
    forger.join_failed.reset();
    forger.join(forged);
    run(seconds(1));
    ASSERT_TRUE(forger.join_failed.has_value()) << i;
  }
  forger.join(forged);
  run(seconds(1));
  EXPECT_THAT(peer(0).refused.back().message(), HasSubstr("for what it did before"));
  EXPECT_FALSE(peer(0).transport.linked(forger.id));
  EXPECT_EQ(peer(0).view().size(), 2);
}

}  // namespace
}  // namespace weft::membership_conduct_test
