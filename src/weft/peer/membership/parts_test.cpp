// The parts of a membership, each by its own methods.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "weft/net/sim_network.h"
#include "weft/peer/parts/membership_core.h"
#include "weft/peer/test_peer.h"

namespace weft::parts_test {
namespace {

class PartsTest : public testing::Test {
 protected:
  PartsTest() { peer_.found(); }

  Membership::Core& core() { return const_cast<Membership::Core&>(peer_.membership->core()); }

  const PeerId other_ = test_peer_id(2);

 private:
  SimNetwork net_{SimNetworkOptions{}};
  TestPeer peer_{net_, test_membership(test_peer_id(1))};
};

TEST_F(PartsTest, ALinkOfNobodyKnownIsAStrangersUntilItIsGone) {
  LinkInfo link;
  link.peer = other_;
  core().links.add(link);
  EXPECT_TRUE(core().links.up(other_));
  EXPECT_TRUE(core().links.holds_stranger(other_));
  EXPECT_EQ(core().links.trust_of(other_), LinkTrust::kStranger);
  core().links.remove(other_);
  EXPECT_FALSE(core().links.up(other_));
  EXPECT_FALSE(core().links.holds_stranger(other_));
}

TEST_F(PartsTest, ABanIsNewsOnce) {
  EXPECT_TRUE(core().bans.ban({other_, "it lied"}));
  EXPECT_FALSE(core().bans.ban({other_, "it lied"}));
  ASSERT_NE(core().bans.revocations().ban_reason(other_), nullptr);
  EXPECT_EQ(*core().bans.revocations().ban_reason(other_), "it lied");
}

TEST_F(PartsTest, WhoIsBannedIsNobodysFormerMember) {
  const Member member{other_, 1, {"host:1"}, 0};
  core().former.remember_former(member);
  EXPECT_EQ(core().former.all().count(other_), 1U);
  core().former.shut_out(other_);
  EXPECT_TRUE(core().former.all().empty());
  core().bans.ban({other_, "it lied"});
  core().former.remember_former(member);
  EXPECT_TRUE(core().former.all().empty());
}

TEST_F(PartsTest, WhoIsExpectedIsAwaitedUntilItCameOrTheTimeIsOver) {
  EXPECT_FALSE(core().ending.awaits_newcomers());
  core().ending.expect(other_, InvitationId{3});
  EXPECT_TRUE(core().ending.awaits_newcomers());
  const InvitationId same{3};
  core().ending.meet_expected(test_peer_id(9), &same);
  EXPECT_FALSE(core().ending.awaits_newcomers());
  core().ending.expect(other_, InvitationId{3});
  core().now += std::chrono::hours(1);
  EXPECT_FALSE(core().ending.awaits_newcomers());
}

TEST_F(PartsTest, NewsOfItsOwnAndAWishAreForgottenWithTheNextView) {
  core().balloting.demand_change();
  core().balloting.propose_by(core().now);
  EXPECT_TRUE(core().balloting.must_change());
  EXPECT_EQ(core().balloting.propose_at(), core().now);
  core().balloting.on_view();
  EXPECT_FALSE(core().balloting.must_change());
  EXPECT_EQ(core().balloting.propose_at(), kNever);
  ASSERT_TRUE(core().balloting.agreement().has_value());
  core().balloting.end();
  EXPECT_FALSE(core().balloting.agreement().has_value());
}

TEST_F(PartsTest, AMemberAloneWatchesNobody) {
  EXPECT_TRUE(core().watch.all().empty());
  EXPECT_TRUE(core().watch.all_linked());
  EXPECT_EQ(core().watch.reachable(), 1);
  EXPECT_FALSE(core().watch.on_sign_of_life(other_));
  EXPECT_FALSE(core().watch.on_link_up(other_));
  EXPECT_TRUE(core().watch.departures().empty());
}

}  // namespace
}  // namespace weft::parts_test
