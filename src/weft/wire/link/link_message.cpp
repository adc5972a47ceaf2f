#include "weft/wire/link_message.h"

#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

Bytes HelloMessage::encode() const {
  Writer writer;
  writer.u32(kLinkMagic).u16(version).u8(lane).peer(from).peer(to).raw(link).u64(instance);
  return writer.take();
}

Result<HelloMessage> HelloMessage::decode(ByteSpan bytes) {
  Reader reader("hello", bytes);
  HelloMessage hello;
  if (reader.u32("magic") != kLinkMagic) reader.fail("magic", "not a weft link");
  hello.version = reader.u16("version");
  hello.lane = reader.u8("lane");
  if (hello.lane > kBulkConnectionsMax) reader.fail("lane", "expected 0 to 8");
  hello.from = reader.peer("from");
  hello.to = reader.peer("to");
  hello.link = reader.raw<16>("link");
  hello.instance = reader.u64("instance");
  WEFT_TRY(reader.finish());
  return hello;
}

Bytes AliveMessage::encode() const { return Writer().u8(answer ? 1 : 0).take(); }

Result<AliveMessage> AliveMessage::decode(ByteSpan bytes) {
  Reader reader("alive", bytes);
  AliveMessage message;
  const std::uint8_t answer = reader.u8("answer");
  if (answer > 1) reader.fail("answer", "expected 0 or 1");
  message.answer = answer == 1;
  WEFT_TRY(reader.finish());
  return message;
}

Bytes HelloReplyMessage::encode() const {
  Writer writer;
  writer.u8(static_cast<std::uint8_t>(verdict))
      .peer(from)
      .u64(instance)
      .text(to_printable(text, kLinkTextBytesMax));
  return writer.take();
}

Result<HelloReplyMessage> HelloReplyMessage::decode(ByteSpan bytes) {
  Reader reader("hello_reply", bytes);
  HelloReplyMessage reply;
  const std::uint8_t verdict = reader.u8("verdict");
  if (verdict > static_cast<std::uint8_t>(HelloVerdict::kTwin)) {
    reader.fail("verdict", "expected 0 to 5");
  } else {
    reply.verdict = static_cast<HelloVerdict>(verdict);
  }
  reply.from = reader.peer("from");
  reply.instance = reader.u64("instance");
  reply.text = read_printable(reader, "text", kLinkTextBytesMax);
  WEFT_TRY(reader.finish());
  return reply;
}

Bytes ShortcutMessage::encode() const {
  Writer writer;
  writer.raw(name).raw(token);
  return writer.take();
}

Result<ShortcutMessage> ShortcutMessage::decode(ByteSpan bytes) {
  Reader reader("shortcut", bytes);
  ShortcutMessage shortcut;
  shortcut.name = reader.raw<16>("name");
  shortcut.token = reader.raw<32>("token");
  WEFT_TRY(reader.finish());
  return shortcut;
}

Bytes ShortcutHelloMessage::encode() const {
  Writer writer;
  writer.raw(token);
  return writer.take();
}

Result<ShortcutHelloMessage> ShortcutHelloMessage::decode(ByteSpan bytes) {
  Reader reader("shortcut hello", bytes);
  ShortcutHelloMessage hello;
  hello.token = reader.raw<32>("token");
  WEFT_TRY(reader.finish());
  return hello;
}

Bytes LaneMovedMessage::encode() const {
  Writer writer;
  writer.u8(to);
  return writer.take();
}

Result<LaneMovedMessage> LaneMovedMessage::decode(ByteSpan bytes) {
  Reader reader("lane_moved", bytes);
  LaneMovedMessage moved;
  moved.to = reader.u8("to");
  if (moved.to >= kBulkConnectionsMax && moved.to != kToShortcut) {
    reader.fail("to", "expected 0 to 7, or 255");
  }
  WEFT_TRY(reader.finish());
  return moved;
}

Bytes ConnectionsMessage::encode() const {
  Writer writer;
  writer.u8(count);
  return writer.take();
}

Result<ConnectionsMessage> ConnectionsMessage::decode(ByteSpan bytes) {
  Reader reader("connections", bytes);
  ConnectionsMessage connections;
  connections.count = reader.u8("count");
  if (connections.count == 0 || connections.count > kBulkConnectionsMax) {
    reader.fail("count", "expected 1 to 8");
  }
  WEFT_TRY(reader.finish());
  return connections;
}

Bytes GoodbyeMessage::encode() const {
  Writer writer;
  writer.u8(static_cast<std::uint8_t>(code)).text(to_printable(text, kLinkTextBytesMax));
  return writer.take();
}

Result<GoodbyeMessage> GoodbyeMessage::decode(ByteSpan bytes) {
  Reader reader("goodbye", bytes);
  GoodbyeMessage goodbye;
  const std::uint8_t code = reader.u8("code");
  if (code > static_cast<std::uint8_t>(Code::kInternal)) {
    reader.fail("code", "expected 0 to 6");
  } else {
    goodbye.code = static_cast<Code>(code);
  }
  goodbye.text = read_printable(reader, "text", kLinkTextBytesMax);
  WEFT_TRY(reader.finish());
  return goodbye;
}

}  // namespace weft
