#include "weft/wire/reach_message.h"

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/message_checks.h"

namespace weft::reach_message_test {
namespace {

PeerId peer(std::uint8_t number) {
  PeerId id;
  id.bytes.fill(number);
  return id;
}

TEST(ReachMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(IntroduceMessage{{1, 2, 3}, peer(7), true});
  check_message(
      IntroductionMessage{{4}, peer(8), true, {"198.51.100.7:7420", "[2001:db8::1]:7421"}});
  check_message(RelayOfferMessage{{5}, peer(9), false, {{{1}, {2}}}, {"192.0.2.1:7", "h:8"}});
  check_message(RelayOfferMessage{{5}, peer(9), true, {{{1}, {2}}}, {}});
  check_message(ReachRefusedMessage{{6}, "not linked to that peer"});
  check_message(PrefaceMessage{PrefaceKind::kRelay, {9, 8, 7}, {}, 0, false});
  check_message(PrefaceMessage{PrefaceKind::kPunch, {}, {1, 2}, 1, true});
}

TEST(ReachMessage, APrefaceHasOneSizeAndItsOwnFirstByte) {
  for (const PrefaceKind kind : {PrefaceKind::kRelay, PrefaceKind::kPunch}) {
    const Bytes bytes = PrefaceMessage{kind, {}, {}, 1, true}.encode();
    EXPECT_EQ(bytes.size(), kPrefaceBytes);
    EXPECT_EQ(bytes[0], kPrefaceFirstByte);
  }
}

TEST(ReachMessage, RefusesEachFieldBeyondItsBound) {
  const Bytes head = Writer().raw(ReachAttempt{}).peer(peer(1)).u8(1).take();
  const auto with = [&](auto&& add) {
    Writer writer;
    writer.raw(head);
    add(writer);
    return writer.take();
  };
  EXPECT_EQ(IntroductionMessage::decode(with([](Writer& out) { out.u32(97); })).status().message(),
            "introduction.endpoint: expected at most 96 bytes, got 97");
  EXPECT_FALSE(
      IntroductionMessage::decode(with([](Writer& out) { out.text("").text("a:1"); })).ok());
  EXPECT_EQ(RelayOfferMessage::decode(
                with([](Writer& out) { out.raw(RelayToken{}).raw(RelayToken{}).u32(5); }))
                .status()
                .message(),
            "relay_offer.endpoints: expected at most 4 entries, got 5");
  EXPECT_EQ(
      ReachRefusedMessage::decode(Writer().raw(ReachAttempt{}).u32(257).take()).status().message(),
      "reach_refused.text: expected at most 256 bytes, got 257");
  EXPECT_EQ(PrefaceMessage::decode(as_bytes("WEFTWHAT")).status().message(),
            "preface.magic: expected WEFTRLY1 or WEFTPCH1");
}

}  // namespace
}  // namespace weft::reach_message_test
