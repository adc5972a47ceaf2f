#include "weft/peer/conduct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"

namespace weft::conduct_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;

View view_of(std::uint32_t members) {
  View view;
  for (std::uint32_t i = 0; i < members; ++i) view.members.push_back({test_peer_id(i), 1, {}});
  return view;
}

TEST(Conduct, OffencesAddUpAndAreForgotten) {
  Conduct conduct;
  const PeerId peer = test_peer_id(1);
  const TimePoint start{minutes(5)};
  EXPECT_TRUE(conduct.note(peer, Offence::kMalformed, "one", start));
  EXPECT_TRUE(conduct.note(peer, Offence::kMalformed, "two", start));
  EXPECT_FALSE(conduct.bad(peer, start));
  EXPECT_TRUE(conduct.note(peer, Offence::kWrongHash, "three", start));
  EXPECT_TRUE(conduct.bad(peer, start));
  EXPECT_NEAR(conduct.score(peer, start + minutes(10)), conduct.score(peer, start) / 2, 1e-9);
  EXPECT_FALSE(conduct.bad(peer, start + minutes(10)));
  EXPECT_EQ(conduct.score(test_peer_id(2), start), 0.0);
}

TEST(Conduct, TheGravestOffenceIsTheCharge) {
  Conduct conduct;
  const PeerId peer = test_peer_id(1);
  EXPECT_FALSE(conduct.charge(peer).has_value());
  conduct.note(peer, Offence::kWrongHash, "block 3", {});
  conduct.note(peer, Offence::kFlood, "many frames", {});
  EXPECT_EQ(conduct.charge(peer)->offence, Offence::kWrongHash);
  EXPECT_EQ(conduct.charge(peer)->evidence, "block 3");
  EXPECT_EQ(conduct.charge(peer)->accused, peer);
}

TEST(Conduct, SuspicionsAloneNeverReachTheLimit) {
  Conduct conduct;
  const PeerId peer = test_peer_id(1);
  TimePoint now{minutes(1)};
  int counted = 0;
  for (int second = 0; second < 4 * 3600; ++second) {
    now += seconds(1);
    counted += conduct.note(peer, Offence::kFalseSuspicion, "a line that flaps", now) ? 1 : 0;
    ASSERT_FALSE(conduct.bad(peer, now)) << second;
  }
  EXPECT_EQ(counted, 4 * 3600 / 20);
  EXPECT_GT(conduct.score(peer, now), kConductDoubt);
}

TEST(Conduct, IsBoundedAndKeepsTheWorst) {
  Conduct conduct;
  const TimePoint now{minutes(1)};
  conduct.note(test_peer_id(0), Offence::kByHand, "out", now);
  for (std::uint32_t i = 1; i < 3000; ++i) {
    conduct.note(test_peer_id(i), Offence::kFlood, "frames", now + seconds(1));
  }
  EXPECT_EQ(conduct.size(), 1024U);
  EXPECT_GT(conduct.score(test_peer_id(0), now + seconds(1)), 90.0);
}

TEST(Accusations, MoreThanHalfOfTheOthersConvict) {
  for (const std::uint32_t members : {2U, 3U, 4U, 5U, 8U}) {
    Accusations accusations;
    const View view = view_of(members);
    const PeerId accused = test_peer_id(0);
    const auto needed = static_cast<int>((members - 1) / 2 + 1);
    for (std::uint32_t i = 1; i < members; ++i) {
      EXPECT_EQ(accusations.convicts(view, accused), static_cast<int>(i) - 1 >= needed) << members;
      EXPECT_TRUE(accusations.add(accused, test_peer_id(i), {Offence::kMalformed, "garbage"}));
      EXPECT_FALSE(accusations.add(accused, test_peer_id(i), {Offence::kMalformed, "again"}));
    }
    EXPECT_TRUE(accusations.convicts(view, accused));
    EXPECT_THAT(accusations.verdict(view, accused), HasSubstr("malformed message, garbage"));
  }
}

TEST(Accusations, OfFormerMembersAreForgotten) {
  Accusations accusations;
  const PeerId accused = test_peer_id(0);
  for (std::uint32_t i = 1; i < 4; ++i) {
    accusations.add(accused, test_peer_id(i), {Offence::kWrongHash, "block"});
  }
  accusations.keep(view_of(3));
  EXPECT_EQ(accusations.count(accused), 2);
  EXPECT_EQ(accusations.by(test_peer_id(1)).size(), 1U);
  EXPECT_TRUE(accusations.by(test_peer_id(3)).empty());
  View without = view_of(3);
  without.members.erase(without.members.begin());
  accusations.keep(without);
  EXPECT_TRUE(accusations.accused().empty());
}

TEST(Accusations, OneMemberAccusesSoManyOnly) {
  Accusations accusations;
  int taken = 0;
  for (std::uint32_t i = 1; i < 100; ++i) {
    taken += accusations.add(test_peer_id(i), test_peer_id(0), {Offence::kFlood, ""}) ? 1 : 0;
  }
  EXPECT_EQ(taken, 16);
}

TEST(Revocations, TheKeyThatWasRenewedMoreOftenCounts) {
  const auto nobody = [](const PeerId& /*peer*/) { return false; };
  Revocations one;
  Revocations two;
  one.renew({1});
  two.renew({2});
  EXPECT_EQ(two.learn(one.message(), nobody).renewals, 0U);
  EXPECT_EQ(one.learn(two.message(), nobody).key, Hash256{2});
  EXPECT_EQ(one.key(), two.key());
  two.renew({1});
  EXPECT_EQ(one.learn(two.message(), nobody).renewals, 2U);
  EXPECT_EQ(one.key(), Hash256{1});
  EXPECT_EQ(one.learn(RevocationMessage{}, nobody).renewals, 0U);
  EXPECT_EQ(one.renewals(), 2U);
}

TEST(Revocations, AreBoundedAndOnlyGrow) {
  Revocations all;
  EXPECT_TRUE(all.empty());
  EXPECT_TRUE(all.revoke(InvitationId{1}));
  EXPECT_FALSE(all.revoke(InvitationId{1}));
  EXPECT_TRUE(all.ban({test_peer_id(1), "it lied"}));
  EXPECT_FALSE(all.ban({test_peer_id(1), "again"}));
  EXPECT_EQ(*all.ban_reason(test_peer_id(1)), "it lied");

  Revocations other;
  const auto spares_two = [](const PeerId& peer) { return peer == test_peer_id(2); };
  RevocationMessage told = all.message();
  told.bans.push_back({test_peer_id(2), "false"});
  EXPECT_EQ(other.learn(told, spares_two).bans.size(), 1U);
  EXPECT_EQ(other.ban_reason(test_peer_id(2)), nullptr);
  EXPECT_TRUE(other.learn(told, spares_two).bans.empty());
  EXPECT_TRUE(other.revoked(InvitationId{1}));

  for (std::uint32_t i = 0; i < 2 * kRevokedMax; ++i) {
    all.revoke(InvitationId{2, static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8U)});
  }
  EXPECT_TRUE(all.full());
  EXPECT_EQ(all.message().invitations.size(), kRevokedMax);
  all.renew({7});
  EXPECT_FALSE(all.full()) << "with the key all earlier invitations are void";
  EXPECT_TRUE(all.revoke(InvitationId{3}));
}

}  // namespace
}  // namespace weft::conduct_test
