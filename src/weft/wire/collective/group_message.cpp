#include "weft/wire/group_message.h"

namespace weft {

static GroupScope read_scope(Reader& in) {
  const std::uint8_t scope = in.u8("scope");
  if (scope > static_cast<std::uint8_t>(GroupScope::kTakes)) in.fail("scope", "expected 0 to 2");
  return static_cast<GroupScope>(scope);
}

static void write_call(Writer& out, const GroupCallId& call) {
  out.view(call.view).u8(static_cast<std::uint8_t>(call.scope)).u16(call.channel);
  out.u64(call.sequence);
}

static GroupCallId read_call(Reader& in) {
  GroupCallId call;
  call.view = in.view("view");
  call.scope = read_scope(in);
  call.channel = in.u16("channel");
  call.sequence = in.u64("sequence");
  return call;
}

Bytes GroupSegmentHead::encode() const {
  Writer out;
  out.u8(static_cast<std::uint8_t>(scope)).u16(channel).raw(segment.encode());
  return out.take();
}

Result<GroupSegmentHead> GroupSegmentHead::decode(ByteSpan bytes) {
  GroupSegmentHead head;
  Reader in("group segment",
            bytes.first(bytes.size() < kPrefixBytes ? bytes.size() : kPrefixBytes));
  head.scope = read_scope(in);
  head.channel = in.u16("channel");
  WEFT_TRY(in.finish());
  WEFT_TRY_ASSIGN(head.segment, SegmentHead::decode(bytes.subspan(kPrefixBytes)));
  if (head.segment.id.exchange != 0) return corrupt("group segment: expected exchange 0");
  return head;
}

Bytes GroupReadyMessage::encode() const {
  Writer out;
  write_call(out, call);
  out.u8(form).u64(elements).bytes(received);
  return out.take();
}

Result<GroupReadyMessage> GroupReadyMessage::decode(ByteSpan bytes) {
  Reader in("group ready", bytes);
  GroupReadyMessage message;
  message.call = read_call(in);
  message.form = in.u8("form");
  message.elements = in.u64("elements");
  message.received = read_received_map(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes GroupDoneMessage::encode() const {
  Writer out;
  write_call(out, call);
  return out.take();
}

Result<GroupDoneMessage> GroupDoneMessage::decode(ByteSpan bytes) {
  Reader in("group done", bytes);
  GroupDoneMessage message;
  message.call = read_call(in);
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
