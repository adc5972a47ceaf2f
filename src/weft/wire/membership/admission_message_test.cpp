#include "weft/wire/admission_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::admission_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

TEST(AdmissionMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(AccusationMessage{peer(2), Offence::kWrongHash, "block 3: its SHA-256 differs"});
  check_message(RevocationMessage{});
  check_message(MemberProofMessage{{7, 8}});
  check_message(
      RevocationMessage{7, {8}, {InvitationId{1}, InvitationId{2}}, {{peer(3), "expelled"}}});
}

TEST(AdmissionMessage, KeepsEveryField) {
  const AccusationMessage said{peer(2), Offence::kByHand, "it computes nothing"};
  const Result<AccusationMessage> heard = AccusationMessage::decode(said.encode());
  ASSERT_TRUE(heard.ok());
  EXPECT_EQ(heard->accused, said.accused);
  EXPECT_EQ(heard->offence, said.offence);
  EXPECT_EQ(heard->evidence, said.evidence);
  const RevocationMessage sent{3, {5}, {InvitationId{9}}, {{peer(4), "it lied"}}};
  const Result<RevocationMessage> got = RevocationMessage::decode(sent.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->renewals, 3U);
  EXPECT_EQ(got->key, sent.key);
  EXPECT_EQ(got->invitations, sent.invitations);
  EXPECT_EQ(got->bans, sent.bans);
}

TEST(AdmissionMessage, RefusesEachFieldBeyondItsBound) {
  const Bytes offence = Writer().peer(peer(1)).u8(7).text("").take();
  EXPECT_EQ(AccusationMessage::decode(offence).status().message(),
            "accusation.offence: expected 0 to 6");
  const Bytes many = Writer().u64(0).raw(Hash256{}).u32(kRevokedMax + 1).take();
  EXPECT_EQ(RevocationMessage::decode(many).status().message(),
            "revocation.invitations: expected at most 1024 entries, got 1025");
  const Bytes bans = Writer().u64(0).raw(Hash256{}).u32(0).u32(kBansMax + 1).take();
  EXPECT_EQ(RevocationMessage::decode(bans).status().code(), Code::kCorrupt);
  const AccusationMessage wordy{peer(1), Offence::kFlood, std::string(1000, 'x')};
  EXPECT_EQ(AccusationMessage::decode(wordy.encode())->evidence.size(), kReasonBytesMax);
}

TEST(AdmissionMessage, TheLargestFitsInAFrame) {
  RevocationMessage most;
  for (std::uint32_t i = 0; i < kRevokedMax; ++i) {
    most.invitations.push_back(InvitationId{static_cast<std::uint8_t>(i)});
  }
  for (std::uint32_t i = 0; i < kBansMax; ++i) {
    most.bans.push_back({peer(static_cast<std::uint8_t>(i)), std::string(kReasonBytesMax, 'x')});
  }
  const Bytes encoded = most.encode();
  EXPECT_LT(encoded.size(), 100U * 1024);
  EXPECT_TRUE(RevocationMessage::decode(encoded).ok());
}

}  // namespace
}  // namespace weft::admission_message_test
