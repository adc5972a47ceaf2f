#include "weft/wire/gossip_message.h"

#include <algorithm>

#include "weft/base/check.h"
#include "weft/wire/codec.h"

namespace weft {

static void write_standing_fields(Writer& out, const MemberStanding& standing) {
  out.u64(standing.counter).u8(standing.left ? 1 : 0);
  out.u32(static_cast<std::uint32_t>(standing.endpoints.size()));
  for (const std::string& endpoint : standing.endpoints) out.text(endpoint);
}

static MemberRecord read_record(Reader& in) {
  MemberRecord record;
  record.key = in.raw<32>("key");
  record.standing.counter = in.u64("counter");
  record.standing.left = in.boolean("left");
  const std::uint32_t endpoints = in.count("endpoints", kRecordEndpointsMax);
  for (std::uint32_t i = 0; i < endpoints && !in.failed(); ++i) {
    record.standing.endpoints.push_back(in.text("endpoint", kRecordEndpointBytesMax));
  }
  record.standing.signature = in.raw<64>("standing signature");
  record.presence.round = in.round("presence round");
  record.presence.signature = in.raw<64>("presence signature");
  return record;
}

Bytes GossipBookMessage::encode() const {
  Writer out;
  out.u32(static_cast<std::uint32_t>(records.size()));
  for (const MemberRecord& record : records) {
    out.raw(record.key);
    write_standing_fields(out, record.standing);
    out.raw(record.standing.signature);
    out.round(record.presence.round).raw(record.presence.signature);
  }
  return out.take();
}

Result<GossipBookMessage> GossipBookMessage::decode(ByteSpan bytes) {
  Reader in("gossip book", bytes);
  GossipBookMessage message;
  const std::uint32_t count = in.count("records", kBookMessageRecordsMax);
  for (std::uint32_t i = 0; i < count && !in.failed(); ++i) {
    message.records.push_back(read_record(in));
  }
  WEFT_TRY(in.finish());
  return message;
}

std::size_t GossipParametersHead::piece_bytes() const {
  WEFT_CHECK(piece < pieces());
  const std::uint64_t begin = piece * kGossipPieceElements;
  return std::min(kGossipPieceElements, elements - begin) * sizeof(float);
}

Bytes GossipParametersHead::encode() const {
  Writer out;
  out.round(round).u32(degree).u8(topology ? 1 : 0).u8(newcomer ? 1 : 0);
  out.u64(elements).u32(piece).u8(gathering ? 1 : 0);
  return out.take();
}

Result<GossipParametersHead> GossipParametersHead::decode(ByteSpan bytes) {
  Reader in("gossip parameters", bytes);
  GossipParametersHead head;
  head.round = in.round("round");
  head.degree = in.u32("degree");
  head.topology = in.boolean("topology");
  head.newcomer = in.boolean("newcomer");
  head.elements = in.u64("elements");
  head.piece = in.u32("piece");
  head.gathering = in.boolean("gathering");
  if (head.degree > kGossipDegreeMax) in.fail("degree", "is too large");
  if (head.elements == 0 || head.elements > kGossipElementsMax) {
    in.fail("elements", "are none or too many");
  } else if (head.piece >= head.pieces()) {
    in.fail("piece", "lies behind the last one");
  }
  WEFT_TRY(in.finish());
  return head;
}

Bytes GossipAbsentMessage::encode() const {
  Writer out;
  out.round(round);
  return out.take();
}

Result<GossipAbsentMessage> GossipAbsentMessage::decode(ByteSpan bytes) {
  Reader in("gossip absent", bytes);
  GossipAbsentMessage message;
  message.round = in.round("round");
  WEFT_TRY(in.finish());
  return message;
}

Bytes GossipParametersRequestMessage::encode() const {
  Writer out;
  out.u64(attempt);
  return out.take();
}

Result<GossipParametersRequestMessage> GossipParametersRequestMessage::decode(ByteSpan bytes) {
  Reader in("gossip parameters request", bytes);
  GossipParametersRequestMessage message;
  message.attempt = in.u64("attempt");
  WEFT_TRY(in.finish());
  return message;
}

Bytes GossipWelcomeMessage::encode() const {
  Writer out;
  out.raw(key);
  return out.take();
}

Result<GossipWelcomeMessage> GossipWelcomeMessage::decode(ByteSpan bytes) {
  Reader in("gossip welcome", bytes);
  GossipWelcomeMessage message;
  message.key = in.raw<32>("key");
  WEFT_TRY(in.finish());
  return message;
}

Bytes signed_standing(const RunId& run, const MemberStanding& standing) {
  Writer out;
  out.text("weft gossip standing").raw(run);
  write_standing_fields(out, standing);
  return out.take();
}

Bytes signed_presence(const RunId& run, const MemberPresence& presence) {
  Writer out;
  out.text("weft gossip presence").raw(run).round(presence.round);
  return out.take();
}

}  // namespace weft
