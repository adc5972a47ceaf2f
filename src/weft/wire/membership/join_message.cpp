#include "weft/wire/join_message.h"

#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

void write_proof(Writer& out, const JoinProof& proof) {
  out.u16(proof.version)
      .raw(proof.run)
      .raw(proof.invitation)
      .u64(static_cast<std::uint64_t>(proof.expiry_unix_s))
      .raw(proof.hmac);
}

// Another version decodes, so that the refusal can name it.
JoinProof read_proof(Reader& in) {
  JoinProof proof;
  proof.version = in.u16("proof.version");
  proof.run = in.raw<32>("proof.run");
  proof.invitation = in.raw<16>("proof.invitation");
  proof.expiry_unix_s = static_cast<std::int64_t>(in.u64("proof.expiry"));
  proof.hmac = in.raw<32>("proof.hmac");
  return proof;
}

}  // namespace

Bytes RecipeRequestMessage::encode() const {
  Writer out;
  write_proof(out, proof);
  return out.take();
}

Result<RecipeRequestMessage> RecipeRequestMessage::decode(ByteSpan bytes) {
  Reader in("recipe_request", bytes);
  RecipeRequestMessage message;
  message.proof = read_proof(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes RecipeMessage::encode() const {
  WEFT_CHECK(text.size() <= kRecipeBytesMax);
  Writer out;
  out.text(text).u8(successor ? 1 : 0);
  if (successor) {
    out.raw(successor->run).raw(successor->recipe_hash).raw(successor->invitation);
    out.u64(static_cast<std::uint64_t>(successor->expiry_unix_s)).raw(successor->secret);
  }
  return out.take();
}

Result<RecipeMessage> RecipeMessage::decode(ByteSpan bytes) {
  Reader in("recipe", bytes);
  RecipeMessage message;
  message.text = in.text("text", kRecipeBytesMax);
  if (in.boolean("moved")) {
    SuccessorRun& next = message.successor.emplace();
    next.run = in.raw<32>("successor.run");
    next.recipe_hash = in.raw<32>("successor.recipe_hash");
    next.invitation = in.raw<16>("successor.invitation");
    next.expiry_unix_s = static_cast<std::int64_t>(in.u64("successor.expiry"));
    next.secret = in.raw<32>("successor.secret");
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes JoinRequestMessage::encode() const {
  Writer out;
  write_proof(out, proof);
  out.raw(layout_hash).raw(recipe_hash);
  write_member(out, joiner);
  return out.take();
}

Result<JoinRequestMessage> JoinRequestMessage::decode(ByteSpan bytes) {
  Reader in("join_request", bytes);
  JoinRequestMessage message;
  message.proof = read_proof(in);
  message.layout_hash = in.raw<32>("layout_hash");
  message.recipe_hash = in.raw<32>("recipe_hash");
  message.joiner = read_member(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes JoinAcceptedMessage::encode() const {
  Writer out;
  out.view(current.previous).view(current.view);
  write_view_value(out, current.value);
  return out.take();
}

Result<JoinAcceptedMessage> JoinAcceptedMessage::decode(ByteSpan bytes) {
  Reader in("join_accepted", bytes);
  JoinAcceptedMessage message;
  message.current.previous = in.view("current.previous");
  message.current.view = in.view("current.view");
  message.current.value = read_view_value(in);
  WEFT_TRY(in.finish());
  return message;
}

Bytes JoinRefusedMessage::encode() const {
  return Writer()
      .u8(static_cast<std::uint8_t>(code))
      .u32(retry_after_ms)
      .text(to_printable(reason, kRefusalBytesMax))
      .take();
}

Result<JoinRefusedMessage> JoinRefusedMessage::decode(ByteSpan bytes) {
  Reader in("join_refused", bytes);
  JoinRefusedMessage message;
  const std::uint8_t code = in.u8("code");
  if (code > static_cast<std::uint8_t>(RefusalCode::kBegun)) {
    in.fail("code", "expected 0 to 16");
  } else {
    message.code = static_cast<RefusalCode>(code);
  }
  message.retry_after_ms = in.u32("retry_after_ms");
  message.reason = read_printable(in, "reason", kRefusalBytesMax);
  WEFT_TRY(in.finish());
  return message;
}

Bytes AdmitRequestMessage::encode() const {
  return Writer().u64(incarnation).round(caught_up).take();
}

Result<AdmitRequestMessage> AdmitRequestMessage::decode(ByteSpan bytes) {
  Reader in("admit_request", bytes);
  AdmitRequestMessage message;
  message.incarnation = in.u64("incarnation");
  message.caught_up = in.round("caught_up");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
