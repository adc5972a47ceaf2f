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

StrangerLimits small_limits() {
  StrangerLimits limits;
  limits.count_max = 4;
  limits.of_address_max = 2;
  limits.holders_max = 2;
  limits.frames_max = 3;
  limits.bytes_max = 1000;
  return limits;
}

TEST(Strangers, AreBoundedInFramesBytesAnswersAndTime) {
  Strangers strangers(small_limits());
  const TimePoint start{};
  EXPECT_TRUE(strangers.add(test_peer_id(1), "a", start).empty());
  EXPECT_TRUE(strangers.add(test_peer_id(2), "b", start + std::chrono::seconds(5)).empty());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(strangers.count_frame(test_peer_id(1), 10));
  EXPECT_FALSE(strangers.count_frame(test_peer_id(1), 10));
  EXPECT_FALSE(strangers.count_frame(test_peer_id(2), 1001));
  EXPECT_FALSE(strangers.answered(test_peer_id(1)));
  EXPECT_TRUE(strangers.count_answer(test_peer_id(1)));
  EXPECT_TRUE(strangers.answered(test_peer_id(1)));
  EXPECT_FALSE(strangers.count_answer(test_peer_id(1)));
  // A former member's come again.
  const TimePoint begin{};
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(
        strangers.count_known_answer(test_peer_id(1), begin + std::chrono::milliseconds(i)));
  }
  EXPECT_FALSE(
      strangers.count_known_answer(test_peer_id(1), begin + std::chrono::milliseconds(249)));
  EXPECT_TRUE(
      strangers.count_known_answer(test_peer_id(1), begin + std::chrono::milliseconds(250)));
  // Nothing is counted for others.
  EXPECT_TRUE(strangers.count_frame(test_peer_id(9), 1'000'000));
  EXPECT_TRUE(strangers.take_expired(start + std::chrono::seconds(9)).empty());
  EXPECT_EQ(strangers.take_expired(start + std::chrono::seconds(10)),
            std::vector<PeerId>{test_peer_id(1)});
  strangers.remove(test_peer_id(2));
  EXPECT_EQ(strangers.size(), 0U);
}

TEST(Strangers, OneAddressCrowdsOutItselfAndManyTheOldestOfTheMostSeen) {
  Strangers strangers(small_limits());
  const TimePoint now{};
  for (const std::uint32_t i : {1U, 2U}) {
    EXPECT_TRUE(strangers.add(test_peer_id(i), "flood", now).empty());
  }
  EXPECT_EQ(strangers.add(test_peer_id(3), "flood", now), std::vector<PeerId>{test_peer_id(1)});
  EXPECT_TRUE(strangers.add(test_peer_id(4), "b", now).empty());
  EXPECT_TRUE(strangers.add(test_peer_id(5), "c", now).empty());
  // Four are there, two of them of one address.
  EXPECT_EQ(strangers.add(test_peer_id(6), "d", now), std::vector<PeerId>{test_peer_id(2)});
  EXPECT_EQ(strangers.add(test_peer_id(7), "e", now), std::vector<PeerId>{test_peer_id(3)});
  EXPECT_EQ(strangers.size(), 4U);
}

TEST(Strangers, WhoShowsATicketIsNotCrowdedOutByThoseWhoDoNot) {
  Strangers strangers(small_limits());
  const TimePoint now{};
  const PeerId holder = test_peer_id(1);
  strangers.add(holder, "flood", now);
  for (int i = 0; i < 4; ++i) strangers.count_frame(holder, 10);
  EXPECT_TRUE(strangers.show_ticket(holder, now).empty());
  EXPECT_TRUE(strangers.has_ticket(holder));
  EXPECT_TRUE(strangers.count_frame(holder, 10'000));
  for (std::uint32_t i = 10; i < 100; ++i) {
    strangers.add(test_peer_id(i), i % 3 == 0 ? "flood" : "b" + std::to_string(i), now);
  }
  EXPECT_TRUE(strangers.contains(holder));
  EXPECT_EQ(strangers.size(), 5U);
  // Holders crowd out each other, beyond their own number.
  for (const std::uint32_t i : {201U, 202U}) strangers.add(test_peer_id(i), "h", now);
  EXPECT_TRUE(strangers.show_ticket(test_peer_id(201), now).empty());
  EXPECT_EQ(strangers.show_ticket(test_peer_id(202), now), std::vector<PeerId>{holder});
}

}  // namespace
}  // namespace weft::admission_test
