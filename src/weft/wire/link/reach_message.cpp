#include "weft/wire/reach_message.h"

#include <algorithm>
#include <string_view>

#include "weft/base/check.h"
#include "weft/base/hash.h"
#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

constexpr std::string_view kRelayMagic = "WEFTRLY1";
constexpr std::string_view kPunchMagic = "WEFTPCH1";
constexpr std::array<std::uint8_t, 14> kPunchZeros{};

std::string read_endpoint(Reader& reader, std::string_view field) {
  std::string endpoint = read_printable(reader, field, kReachEndpointBytesMax);
  if (endpoint.empty()) reader.fail(field, "expected an endpoint, got nothing");
  return endpoint;
}

}  // namespace

RelayToken relay_pass(const RelayToken& token) {
  return sha256(Writer().raw(as_bytes(kRelayMagic)).raw(token).take());
}

ReachAttempt punch_mark(const ReachAttempt& attempt) {
  const Hash256 hash = sha256(Writer().raw(as_bytes(kPunchMagic)).raw(attempt).take());
  ReachAttempt mark{};
  std::copy_n(hash.begin(), mark.size(), mark.begin());
  return mark;
}

Bytes IntroduceMessage::encode() const {
  return Writer().raw(attempt).peer(peer).u8(relay ? 1 : 0).take();
}

Result<IntroduceMessage> IntroduceMessage::decode(ByteSpan bytes) {
  Reader reader("introduce", bytes);
  IntroduceMessage message;
  message.attempt = reader.raw<16>("attempt");
  message.peer = reader.peer("peer");
  message.relay = reader.boolean("relay");
  WEFT_TRY(reader.finish());
  return message;
}

Bytes IntroductionMessage::encode() const {
  Writer writer;
  writer.raw(attempt).peer(peer).u8(asker ? 1 : 0);
  for (const std::string& endpoint : endpoints) {
    writer.text(to_printable(endpoint, kReachEndpointBytesMax));
  }
  return writer.take();
}

Result<IntroductionMessage> IntroductionMessage::decode(ByteSpan bytes) {
  Reader reader("introduction", bytes);
  IntroductionMessage message;
  message.attempt = reader.raw<16>("attempt");
  message.peer = reader.peer("peer");
  message.asker = reader.boolean("asker");
  for (std::string& endpoint : message.endpoints) endpoint = read_endpoint(reader, "endpoint");
  WEFT_TRY(reader.finish());
  return message;
}

Bytes RelayOfferMessage::encode() const {
  WEFT_CHECK(endpoints.size() <= kReachEndpointsMax);
  Writer writer;
  writer.raw(attempt).peer(peer).u8(asker ? 1 : 0).raw(tokens[0]).raw(tokens[1]);
  writer.u32(static_cast<std::uint32_t>(endpoints.size()));
  for (const std::string& endpoint : endpoints) {
    writer.text(to_printable(endpoint, kReachEndpointBytesMax));
  }
  return writer.take();
}

Result<RelayOfferMessage> RelayOfferMessage::decode(ByteSpan bytes) {
  Reader reader("relay_offer", bytes);
  RelayOfferMessage message;
  message.attempt = reader.raw<16>("attempt");
  message.peer = reader.peer("peer");
  message.asker = reader.boolean("asker");
  for (RelayToken& token : message.tokens) token = reader.raw<32>("token");
  const std::uint32_t count = reader.count("endpoints", kReachEndpointsMax);
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    message.endpoints.push_back(read_endpoint(reader, "endpoint"));
  }
  WEFT_TRY(reader.finish());
  return message;
}

Bytes ReachRefusedMessage::encode() const {
  return Writer().raw(attempt).text(to_printable(text, kReachTextBytesMax)).take();
}

Result<ReachRefusedMessage> ReachRefusedMessage::decode(ByteSpan bytes) {
  Reader reader("reach_refused", bytes);
  ReachRefusedMessage message;
  message.attempt = reader.raw<16>("attempt");
  message.text = read_printable(reader, "text", kReachTextBytesMax);
  WEFT_TRY(reader.finish());
  return message;
}

Bytes PrefaceMessage::encode() const {
  if (kind == PrefaceKind::kRelay) return Writer().raw(as_bytes(kRelayMagic)).raw(pass).take();
  return Writer()
      .raw(as_bytes(kPunchMagic))
      .raw(mark)
      .u8(lane)
      .u8(asker ? 1 : 0)
      .raw(kPunchZeros)
      .take();
}

Result<PrefaceMessage> PrefaceMessage::decode(ByteSpan bytes) {
  Reader reader("preface", bytes);
  PrefaceMessage preface;
  const std::array<std::uint8_t, 8> magic = reader.raw<8>("magic");
  const auto is = [&](std::string_view wanted) {
    return std::equal(magic.begin(), magic.end(), as_bytes(wanted).begin());
  };
  if (is(kRelayMagic)) {
    preface.pass = reader.raw<32>("pass");
  } else if (is(kPunchMagic)) {
    preface.kind = PrefaceKind::kPunch;
    preface.mark = reader.raw<16>("mark");
    preface.lane = reader.u8("lane");
    if (preface.lane > 1) reader.fail("lane", "expected 0 or 1");
    preface.asker = reader.boolean("asker");
    if (reader.raw<14>("zeros") != kPunchZeros) reader.fail("zeros", "expected zeros");
  } else {
    reader.fail("magic", "expected WEFTRLY1 or WEFTPCH1");
  }
  WEFT_TRY(reader.finish());
  return preface;
}

}  // namespace weft
