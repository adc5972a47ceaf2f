#include "weft/wire/discovery_message.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "weft/wire/codec.h"
#include "weft/wire/core/endpoint_text.h"
#include "weft/wire/core/message_checks.h"
#include "weft/wire/rendezvous_message.h"

namespace weft::discovery_message_test {
namespace {

template <class Array>
Array filled(std::uint8_t value) {
  Array out{};
  out.fill(value);
  return out;
}

DiscoveryAnswer answer(DiscoveryInvite invite) {
  DiscoveryAnswer out;
  out.nonce = filled<DiscoveryNonce>(1);
  out.tag = filled<Hash256>(2);
  out.key.fill(3);
  out.unix_time_s = 1'900'000'000;
  out.members = 5;
  out.name = "digits (cnn)";
  out.endpoints = {"192.0.2.1:7420", "[2001:db8::1]:7420"};
  out.invite = invite;
  if (invite == DiscoveryInvite::kOpen) {
    out.open = OpenInvitation{filled<Hash256>(4), filled<Hash256>(5), filled<InvitationId>(6),
                              1'900'003'600, filled<Hash256>(7)};
  }
  out.run_proof.fill(8);
  out.signature.fill(9);
  return out;
}

RendezvousRecord record() {
  RendezvousRecord out;
  out.key.fill(3);
  out.unix_time_s = 1'900'000'000;
  out.endpoints = {"192.0.2.1:7420"};
  out.signature.fill(9);
  return out;
}

TEST(DiscoveryMessage, EachOneSurvivesARoundTripAndNothingElseDecodes) {
  check_message(DiscoveryQuery{filled<DiscoveryNonce>(1), filled<Hash256>(2), filled<Hash256>(3)});
  check_message(answer(DiscoveryInvite::kOpen));
  check_message(answer(DiscoveryInvite::kTicket));
  check_message(answer(DiscoveryInvite::kAllowlist));
  check_message(record());
  check_message(CodeAnswer{filled<DiscoveryNonce>(1), Bytes(99, 7)});
  check_message(CodeTicket{filled<Hash256>(1), filled<Hash256>(2), "weft2-abc",
                           filled<std::array<std::uint8_t, 64>>(3)});
}

TEST(DiscoveryMessage, KeepsEveryFieldOfAnAnswer) {
  const DiscoveryAnswer sent = answer(DiscoveryInvite::kOpen);
  const Result<DiscoveryAnswer> got = DiscoveryAnswer::decode(sent.encode());
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->nonce, sent.nonce);
  EXPECT_EQ(got->tag, sent.tag);
  EXPECT_EQ(got->key, sent.key);
  EXPECT_EQ(got->unix_time_s, sent.unix_time_s);
  EXPECT_EQ(got->members, 5U);
  EXPECT_EQ(got->name, sent.name);
  EXPECT_EQ(got->endpoints, sent.endpoints);
  EXPECT_EQ(got->open, sent.open);
  EXPECT_EQ(got->run_proof, sent.run_proof);
  EXPECT_EQ(got->signature, sent.signature);
}

TEST(DiscoveryMessage, ANameMayBeInAnyScriptAndSteersNoTerminal) {
  const auto name_of = [](const std::string& name) {
    DiscoveryAnswer sent = answer(DiscoveryInvite::kTicket);
    sent.name = name;
    const Result<DiscoveryAnswer> got = DiscoveryAnswer::decode(sent.encode());
    return got.ok() ? got->name : got.status().message();
  };
  EXPECT_EQ(name_of("\u00fcbung \u4e16\u754c (cnn)"), "\u00fcbung \u4e16\u754c (cnn)");
  EXPECT_EQ(name_of("a\x1b[2J\u202eb\xff"), "a?[2J?b?");
  EXPECT_EQ(name_of(std::string(63, 'n') + "\u00fc"), std::string(63, 'n'));  // no half characters
  // What a decoder meets that an encoder does not make.
  Bytes altered = answer(DiscoveryInvite::kTicket).encode();
  const std::string_view letters = "digits";
  const auto at = std::search(altered.begin(), altered.end(), letters.begin(), letters.end());
  ASSERT_NE(at, altered.end());
  *at = 0x1b;
  EXPECT_EQ(DiscoveryAnswer::decode(altered).status().message(),
            "discovery_answer.name: expected printable UTF-8");
}

TEST(DiscoveryMessage, NoAnswerIsLongerThanAQuery) {
  DiscoveryAnswer longest = answer(DiscoveryInvite::kOpen);
  longest.name = std::string(500, 'n');
  longest.endpoints.assign(20, std::string(kHintEndpointBytesMax, ':'));
  const Bytes bytes = longest.encode();
  EXPECT_LE(bytes.size(), DiscoveryQuery().encode().size());
  EXPECT_EQ(DiscoveryQuery().encode().size(), kDiscoveryQueryBytes);
  EXPECT_TRUE(DiscoveryAnswer::decode(bytes).ok());
}

TEST(DiscoveryMessage, LeavesOutAddressesThatAreTooLong) {
  DiscoveryAnswer sent = answer(DiscoveryInvite::kTicket);
  sent.endpoints = {std::string(kHintEndpointBytesMax, 'h') + ":1", "192.0.2.1:7420"};
  const Result<DiscoveryAnswer> got = DiscoveryAnswer::decode(sent.encode());
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(got->endpoints, std::vector<std::string>{"192.0.2.1:7420"});
}

TEST(DiscoveryMessage, ARecordKeepsItsBound) {
  RendezvousRecord longest = record();
  longest.endpoints.assign(kHintEndpointsMax, std::string(kHintEndpointBytesMax, ':'));
  EXPECT_LE(longest.encode().size(), kRendezvousRecordBytesMax);
}

TEST(DiscoveryMessage, TheSignatureOfARecordIsOfOneRun) {
  EXPECT_NE(record().signed_part(filled<Hash256>(1)), record().signed_part(filled<Hash256>(2)));
}

TEST(DiscoveryMessage, RefusesEachFieldBeyondItsBound) {
  const auto fault = [](ByteSpan bytes) { return DiscoveryAnswer::decode(bytes).status(); };
  EXPECT_EQ(fault(Writer().u32(1).take()).message(), "discovery_answer.magic: not a weft datagram");
  EXPECT_EQ(fault(Writer().u32(kDiscoveryMagic).u16(1).take()).message(),
            "discovery_answer.version: expected 2");
  EXPECT_EQ(fault(DiscoveryQuery().encode()).message(),
            "discovery_answer.kind: another kind of datagram");
  DiscoveryAnswer nowhere = answer(DiscoveryInvite::kTicket);
  nowhere.endpoints.clear();  // as strangers are told
  EXPECT_TRUE(fault(nowhere.encode()).ok());
  DiscoveryAnswer blank = answer(DiscoveryInvite::kTicket);
  blank.endpoints = {"a b:1"};
  EXPECT_EQ(fault(blank.encode()).message(), "discovery_answer.endpoint: expected host:port");
  Bytes padded = DiscoveryQuery().encode();
  padded.back() = 1;
  EXPECT_EQ(DiscoveryQuery::decode(padded).status().message(),
            "discovery_query.padding: expected zeros");
}

}  // namespace
}  // namespace weft::discovery_message_test
