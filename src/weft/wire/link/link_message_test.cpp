#include "weft/wire/link_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::link_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

HelloMessage hello() { return {kLinkVersion, 1, peer(1), peer(2), {3}, 99}; }

TEST(LinkMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(hello());
  check_message(HelloReplyMessage{HelloVerdict::kWrongPeer, peer(1), 99, "I am another"});
  check_message(ShortcutMessage{{1, 2}, {3, 4}});
  check_message(ShortcutHelloMessage{{5, 6}});
  check_message(LaneMovedMessage{3});
  check_message(LaneMovedMessage{LaneMovedMessage::kToShortcut});
  check_message(ConnectionsMessage{4});
  check_message(AliveMessage{false});
  check_message(AliveMessage{true});
  check_message(GoodbyeMessage{Code::kTimeout, "silent for 2 s"});
}

TEST(LinkMessage, KeepsEveryFieldOfAHello) {
  const Result<HelloMessage> got = HelloMessage::decode(hello().encode());
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->lane, 1);
  EXPECT_EQ(got->from, peer(1));
  EXPECT_EQ(got->to, peer(2));
  EXPECT_EQ(got->link[0], 3);
  EXPECT_EQ(got->instance, 99U);
}

TEST(LinkMessage, AnotherVersionDecodesSoThatItCanBeNamed) {
  HelloMessage later = hello();
  later.version = 7;
  EXPECT_EQ(HelloMessage::decode(later.encode())->version, 7);
}

TEST(LinkMessage, RefusesEachFieldBeyondItsBound) {
  EXPECT_EQ(HelloMessage::decode(Writer().u32(0x20544547).take()).status().message(),
            "hello.magic: not a weft link");
  const Bytes lane = Writer().u32(kLinkMagic).u16(kLinkVersion).u8(9).take();
  EXPECT_EQ(HelloMessage::decode(lane).status().message(), "hello.lane: expected 0 to 8");
  for (const std::uint8_t to : {std::uint8_t{8}, std::uint8_t{254}}) {
    EXPECT_EQ(LaneMovedMessage::decode(Writer().u8(to).take()).status().message(),
              "lane_moved.to: expected 0 to 7, or 255");
  }
  for (const std::uint8_t count : {std::uint8_t{0}, std::uint8_t{9}}) {
    EXPECT_EQ(ConnectionsMessage::decode(Writer().u8(count).take()).status().message(),
              "connections.count: expected 1 to 8");
  }
  EXPECT_EQ(HelloReplyMessage::decode(Writer().u8(6).take()).status().message(),
            "hello_reply.verdict: expected 0 to 5");
  EXPECT_EQ(GoodbyeMessage::decode(Writer().u8(7).take()).status().message(),
            "goodbye.code: expected 0 to 6");
  EXPECT_EQ(GoodbyeMessage::decode(Writer().u8(1).u32(513).take()).status().message(),
            "goodbye.text: expected at most 512 bytes, got 513");
  EXPECT_FALSE(GoodbyeMessage::decode(Writer().u8(1).text("\x1b[2J").take()).ok());
}

}  // namespace
}  // namespace weft::link_message_test
