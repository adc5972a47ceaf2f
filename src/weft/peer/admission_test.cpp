#include "weft/peer/admission.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/peer/test_peer.h"

namespace weft::admission_test {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kNow = 1'700'000'000;

class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() {
    ticket.run = facts.run;
    ticket.recipe_hash = facts.recipe_hash;
    ticket.invitation = {7};
    ticket.expiry_unix_s = kNow + 60;
    ticket.secret = secret();
    link.joiner = test_peer_id(1);
    link.member = test_peer_id(2);
    link.exporter = {3};
  }
  Hash256 secret() const {
    return invitation_secret(facts.invitation_key, ticket.run, ticket.invitation,
                             ticket.expiry_unix_s);
  }
  JoinRequestMessage request() const {
    return {make_proof(ticket, ProofPurpose::kJoin, link), facts.layout_hash, facts.recipe_hash,
            Member{link.joiner, 1, {}}};
  }
  // The code of the refusal; fails the test if there is none.
  RefusalCode refused(const JoinRequestMessage& message, std::int64_t now = kNow) {
    const auto why = refuse_join(facts, message, link, now);
    EXPECT_TRUE(why.has_value());
    if (!why) return RefusalCode::kFull;
    EXPECT_TRUE(final_refusal(why->code));
    reason = why->reason;
    return why->code;
  }

  RunFacts facts{{1}, {2}, {3}, {4}};
  Ticket ticket;
  ProofLink link;
  std::string reason;
};

TEST_F(AdmissionTest, GoodTicketIsLetIn) {
  EXPECT_FALSE(refuse_join(facts, request(), link, kNow).has_value());
  EXPECT_FALSE(refuse_join(facts, request(), link, kNow + 59).has_value());
}

TEST_F(AdmissionTest, ExpiredTicket) {
  EXPECT_EQ(refused(request(), kNow + 60), RefusalCode::kExpired);
  EXPECT_EQ(refused(request(), kNow + 75), RefusalCode::kExpired);
  EXPECT_THAT(reason, HasSubstr("15 s ago"));
}

TEST_F(AdmissionTest, AnExpiryBeforeTheBeginningOfTimeIsOnlyExpired) {
  ticket.expiry_unix_s = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(refused(request()), RefusalCode::kExpired);
  EXPECT_THAT(reason, HasSubstr("9223372036854775807 s ago"));
  ticket.expiry_unix_s = -1;
  EXPECT_EQ(refused(request()), RefusalCode::kExpired);
  EXPECT_THAT(reason, HasSubstr("1700000001 s ago"));
}

TEST_F(AdmissionTest, ExpiryMovedByTheHolder) {
  ticket.expiry_unix_s += 3600;
  EXPECT_EQ(refused(request()), RefusalCode::kBadProof);
}

TEST_F(AdmissionTest, ForgedSecret) {
  ticket.secret[31] ^= 1U;
  EXPECT_EQ(refused(request()), RefusalCode::kBadProof);
}

TEST_F(AdmissionTest, ProofOfAnotherLinkPurposeOrPeer) {
  const ProofLink mine = link;
  link.exporter = {99};
  const JoinRequestMessage replayed = request();
  link = mine;
  EXPECT_EQ(refused(replayed), RefusalCode::kBadProof);
  JoinRequestMessage other = request();
  other.proof = make_proof(ticket, ProofPurpose::kRecipe, link);
  EXPECT_EQ(refused(other), RefusalCode::kBadProof);
  other = request();
  other.joiner.id = test_peer_id(5);
  EXPECT_EQ(refused(other), RefusalCode::kBadProof);
}

TEST_F(AdmissionTest, OtherRunVersionRecipeOrLayout) {
  JoinRequestMessage other = request();
  other.proof.run[0] ^= 1U;
  EXPECT_EQ(refused(other), RefusalCode::kWrongRun);
  other = request();
  other.proof.version = 9;
  EXPECT_EQ(refused(other), RefusalCode::kVersion);
  EXPECT_THAT(reason, HasSubstr("the joiner 9"));
  other = request();
  other.recipe_hash[0] ^= 1U;
  EXPECT_EQ(refused(other), RefusalCode::kRecipe);
  EXPECT_THAT(reason, HasSubstr("expected 0200"));
  other = request();
  other.layout_hash[0] ^= 1U;
  EXPECT_EQ(refused(other), RefusalCode::kLayout);
}

TEST(Strangers, AreBoundedInNumberFramesAndTime) {
  Strangers strangers(2, 3, std::chrono::seconds(10));
  const TimePoint start{};
  EXPECT_TRUE(strangers.add(test_peer_id(1), start));
  EXPECT_TRUE(strangers.add(test_peer_id(2), start + std::chrono::seconds(5)));
  EXPECT_FALSE(strangers.add(test_peer_id(3), start));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(strangers.count_frame(test_peer_id(1)));
  EXPECT_FALSE(strangers.count_frame(test_peer_id(1)));
  EXPECT_TRUE(strangers.take_expired(start + std::chrono::seconds(9)).empty());
  EXPECT_EQ(strangers.take_expired(start + std::chrono::seconds(10)),
            std::vector<PeerId>{test_peer_id(1)});
  EXPECT_TRUE(strangers.add(test_peer_id(3), start));
  strangers.remove(test_peer_id(2));
  EXPECT_FALSE(strangers.contains(test_peer_id(2)));
}

}  // namespace
}  // namespace weft::admission_test
