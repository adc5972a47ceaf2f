#include "weft/wire/parking_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::parking_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

TEST(ParkingMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(ParkAskMessage{{1, 2}});
  check_message(ParkAnswerMessage{true});
  check_message(ParkAnswerMessage{false});
  check_message(ParkResumeMessage{{7}});
  check_message(RoutedMessage{peer(1), peer(2), 3, {4, 5, 6}});
  check_message(ParkedPacket{ParkedKind::kFrame, 5, 6, {7, 8}});
  check_message(ParkedPacket{ParkedKind::kProbe, 0, 6, {}});
  check_message(ParkedFrame{9, {1, 2}, {3}});
  EXPECT_TRUE(ParkDoneMessage::decode({}).ok());
  EXPECT_EQ(ParkDoneMessage::decode(Bytes{1}).status().code(), Code::kCorrupt);
}

TEST(ParkingMessage, KeepsEveryField) {
  const Result<ParkAskMessage> ask = ParkAskMessage::decode(ParkAskMessage{{1, 2}}.encode());
  ASSERT_TRUE(ask.ok());
  EXPECT_EQ(ask->nonce[1], 2);
  const Result<RoutedMessage> routed =
      RoutedMessage::decode(RoutedMessage{peer(1), peer(2), 3, {4, 5}}.encode());
  ASSERT_TRUE(routed.ok());
  EXPECT_EQ(routed->origin, peer(1));
  EXPECT_EQ(routed->target, peer(2));
  EXPECT_EQ(routed->hops, 3);
  EXPECT_EQ(routed->sealed, (Bytes{4, 5}));
  const Result<ParkedPacket> packet =
      ParkedPacket::decode(ParkedPacket{ParkedKind::kUnpark, 5, 6, {7}}.encode());
  ASSERT_TRUE(packet.ok());
  EXPECT_EQ(packet->kind, ParkedKind::kUnpark);
  EXPECT_EQ(packet->sequence, 5U);
  EXPECT_EQ(packet->acknowledged, 6U);
  EXPECT_EQ(packet->payload, Bytes{7});
}

TEST(ParkingMessage, RefusesEachFieldBeyondItsBound) {
  EXPECT_EQ(RoutedMessage::decode(RoutedMessage{peer(1), peer(2), kRoutedHopsMax + 1, {}}.encode())
                .status()
                .code(),
            Code::kCorrupt);
  EXPECT_EQ(ParkedPacket::decode(Writer().u8(8).u64(0).u64(0).bytes({}).take()).status().code(),
            Code::kCorrupt);
  // A frame has a number, and an acknowledgement has none.
  EXPECT_EQ(
      ParkedPacket::decode(ParkedPacket{ParkedKind::kFrame, 0, 0, {}}.encode()).status().code(),
      Code::kCorrupt);
  EXPECT_EQ(ParkedPacket::decode(ParkedPacket{ParkedKind::kAcknowledgement, 1, 0, {}}.encode())
                .status()
                .code(),
            Code::kCorrupt);
  // A length that promises more than there is.
  EXPECT_EQ(ParkedFrame::decode(Writer().u8(1).u32(0xffffffff).take()).status().code(),
            Code::kCorrupt);
}

}  // namespace
}  // namespace weft::parking_message_test
