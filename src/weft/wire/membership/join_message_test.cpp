#include "weft/wire/join_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::join_message_test {
namespace {

JoinProof proof() {
  JoinProof out;
  out.run.fill(1);
  out.invitation.fill(2);
  out.expiry_unix_s = 1'900'000'000;
  out.hmac.fill(3);
  return out;
}

Member joiner() {
  Member member;
  member.id.bytes.fill(4);
  member.incarnation = 5;
  member.endpoints = {"192.0.2.7:7420"};
  return member;
}

JoinAcceptedMessage acceptance() {
  JoinAcceptedMessage message;
  message.current.previous.number = ViewNumber(2);
  message.current.view.number = ViewNumber(3);
  message.current.value.base_round = Round(77);
  message.current.value.members = {joiner()};
  return message;
}

TEST(JoinMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(RecipeRequestMessage{proof()});
  check_message(RecipeMessage{"[model]\nname = \"mlp\"\n", std::nullopt});
  check_message(RecipeMessage{
      "text", SuccessorRun{RunId{1}, Hash256{2}, InvitationId{3}, 1 << 30, Hash256{4}}});
  check_message(JoinRequestMessage{proof(), {7}, {8}, joiner()});
  check_message(acceptance());
  check_message(JoinRefusedMessage{RefusalCode::kFull, 1500, "2 joins at once; try again"});
  check_message(AdmitRequestMessage{5, Round(41)});
}

TEST(JoinMessage, KeepsEveryField) {
  const JoinRequestMessage sent{proof(), {7}, {8}, joiner()};
  const Result<JoinRequestMessage> got = JoinRequestMessage::decode(sent.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->proof, sent.proof);
  EXPECT_EQ(got->layout_hash, sent.layout_hash);
  EXPECT_EQ(got->recipe_hash, sent.recipe_hash);
  EXPECT_EQ(got->joiner, sent.joiner);
  const Result<JoinAcceptedMessage> accepted = JoinAcceptedMessage::decode(acceptance().encode());
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->current.view.number, ViewNumber(3));
  EXPECT_EQ(accepted->current.value, acceptance().current.value);
}

TEST(JoinMessage, AnotherVersionDecodesSoThatTheRefusalCanNameIt) {
  JoinProof later = proof();
  later.version = kJoinVersion + 1;
  const Result<RecipeRequestMessage> got =
      RecipeRequestMessage::decode(RecipeRequestMessage{later}.encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->proof.version, kJoinVersion + 1);
}

TEST(JoinMessage, RefusesEachFieldBeyondItsBound) {
  const Bytes text = Writer().u32(kRecipeBytesMax + 1).take();
  EXPECT_EQ(RecipeMessage::decode(text).status().message(),
            "recipe.text: expected at most 131072 bytes, got 131073");
  const Bytes code = Writer().u8(17).u32(0).text("").take();
  EXPECT_EQ(JoinRefusedMessage::decode(code).status().message(),
            "join_refused.code: expected 0 to 16");
  const Bytes reason = Writer().u8(0).u32(0).u32(kRefusalBytesMax + 1).take();
  EXPECT_EQ(JoinRefusedMessage::decode(reason).status().message(),
            "join_refused.reason: expected at most 400 bytes, got 401");
  const JoinRefusedMessage wordy{RefusalCode::kTryAgain, 1, std::string(1000, 'x')};
  EXPECT_EQ(JoinRefusedMessage::decode(wordy.encode())->reason.size(), kRefusalBytesMax);
}

}  // namespace
}  // namespace weft::join_message_test
