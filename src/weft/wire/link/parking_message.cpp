#include "weft/wire/parking_message.h"

#include "weft/wire/codec.h"

namespace weft {

namespace {

// A payload is at most a frame with its type and two lengths.
constexpr std::size_t kPayloadBytesMax = kRoutedFrameBytesMax + 16;

Bytes copy_of(ByteSpan bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Bytes ParkAskMessage::encode() const { return Writer().raw(nonce).take(); }

Result<ParkAskMessage> ParkAskMessage::decode(ByteSpan bytes) {
  Reader in("park_ask", bytes);
  ParkAskMessage out;
  out.nonce = in.raw<16>("nonce");
  WEFT_TRY(in.finish());
  return out;
}

Bytes ParkAnswerMessage::encode() const { return Writer().u8(agreed ? 1 : 0).take(); }

Result<ParkAnswerMessage> ParkAnswerMessage::decode(ByteSpan bytes) {
  Reader in("park_answer", bytes);
  ParkAnswerMessage out;
  out.agreed = in.boolean("agreed");
  WEFT_TRY(in.finish());
  return out;
}

Result<ParkDoneMessage> ParkDoneMessage::decode(ByteSpan bytes) {
  Reader in("park_done", bytes);
  WEFT_TRY(in.finish());
  return ParkDoneMessage();
}

Bytes ParkResumeMessage::encode() const { return Writer().raw(name).take(); }

Result<ParkResumeMessage> ParkResumeMessage::decode(ByteSpan bytes) {
  Reader in("park_resume", bytes);
  ParkResumeMessage out;
  out.name = in.raw<16>("name");
  WEFT_TRY(in.finish());
  return out;
}

Bytes RoutedMessage::encode() const {
  return Writer().peer(origin).peer(target).u8(hops).bytes(sealed).take();
}

Result<RoutedMessage> RoutedMessage::decode(ByteSpan bytes) {
  Reader in("routed", bytes);
  RoutedMessage out;
  out.origin = in.peer("origin");
  out.target = in.peer("target");
  out.hops = in.u8("hops");
  if (out.hops > kRoutedHopsMax) in.fail("hops", "more than a packet may have");
  out.sealed = copy_of(in.bytes("sealed", kRoutedBytesMax));
  WEFT_TRY(in.finish());
  return out;
}

Bytes ParkedPacket::encode() const {
  return Writer()
      .u8(static_cast<std::uint8_t>(kind))
      .u64(sequence)
      .u64(acknowledged)
      .bytes(payload)
      .take();
}

Result<ParkedPacket> ParkedPacket::decode(ByteSpan bytes) {
  Reader in("parked_packet", bytes);
  ParkedPacket out;
  const std::uint8_t kind = in.u8("kind");
  if (kind > static_cast<std::uint8_t>(kLastParkedKind)) in.fail("kind", "unknown");
  out.kind = static_cast<ParkedKind>(kind);
  out.sequence = in.u64("sequence");
  if (!in.failed() && is_sequenced(out.kind) != (out.sequence != 0)) {
    in.fail("sequence", "does not fit the kind");
  }
  out.acknowledged = in.u64("acknowledged");
  out.payload = copy_of(in.bytes("payload", kPayloadBytesMax));
  WEFT_TRY(in.finish());
  return out;
}

Bytes ParkedFrame::encode() const { return Writer().u8(type).bytes(head).bytes(body).take(); }

Result<ParkedFrame> ParkedFrame::decode(ByteSpan bytes) {
  Reader in("parked_frame", bytes);
  ParkedFrame out;
  out.type = in.u8("type");
  out.head = copy_of(in.bytes("head", kPayloadBytesMax));
  out.body = copy_of(in.bytes("body", kPayloadBytesMax));
  WEFT_TRY(in.finish());
  return out;
}

}  // namespace weft
