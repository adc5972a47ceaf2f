#include "weft/wire/discovery_message.h"

#include <algorithm>

#include "weft/wire/codec.h"
#include "weft/wire/core/endpoint_text.h"
#include "weft/wire/printable.h"

namespace weft {

namespace {

constexpr std::uint8_t kQueryKind = 1;
constexpr std::uint8_t kAnswerKind = 2;
constexpr std::uint8_t kCodeAnswerKind = 3;
constexpr std::size_t kDiscoveryHeadBytes = 7;
constexpr std::size_t kQueryFieldBytes = kDiscoveryHeadBytes + 16 + 32 + 32;

void write_head(Writer& out, std::uint8_t kind) {
  out.u32(kDiscoveryMagic).u16(kDiscoveryVersion).u8(kind);
}

void read_head(Reader& in, std::uint8_t kind) {
  if (in.u32("magic") != kDiscoveryMagic) in.fail("magic", "not a weft datagram");
  if (in.u16("version") != kDiscoveryVersion) in.fail("version", "expected 2");
  if (in.u8("kind") != kind) in.fail("kind", "another kind of datagram");
}

void write_open(Writer& out, const OpenInvitation& open) {
  out.raw(open.run).raw(open.recipe_hash).raw(open.invitation);
  out.u64(static_cast<std::uint64_t>(open.expiry_unix_s)).raw(open.secret);
}

OpenInvitation read_open(Reader& in) {
  OpenInvitation open;
  open.run = in.raw<32>("open.run");
  open.recipe_hash = in.raw<32>("open.recipe_hash");
  open.invitation = in.raw<16>("open.invitation");
  open.expiry_unix_s = static_cast<std::int64_t>(in.u64("open.expiry"));
  open.secret = in.raw<32>("open.secret");
  return open;
}

DiscoveryInvite read_invite(Reader& in) {
  const std::uint8_t invite = in.u8("invite");
  if (invite > static_cast<std::uint8_t>(DiscoveryInvite::kAllowlist)) {
    in.fail("invite", "expected 0 to 2");
    return DiscoveryInvite::kTicket;
  }
  return static_cast<DiscoveryInvite>(invite);
}

}  // namespace

Bytes DiscoveryQuery::encode() const {
  Writer out;
  write_head(out, kQueryKind);
  out.raw(nonce).raw(tag).raw(proof);
  Bytes bytes = out.take();
  bytes.resize(kDiscoveryQueryBytes);
  return bytes;
}

Result<DiscoveryQuery> DiscoveryQuery::decode(ByteSpan bytes) {
  Reader in("discovery_query", bytes);
  DiscoveryQuery query;
  read_head(in, kQueryKind);
  query.nonce = in.raw<16>("nonce");
  query.tag = in.raw<32>("tag");
  query.proof = in.raw<32>("proof");
  const auto padding = in.raw<kDiscoveryQueryBytes - kQueryFieldBytes>("padding");
  if (std::any_of(padding.begin(), padding.end(), [](std::uint8_t byte) { return byte != 0; })) {
    in.fail("padding", "expected zeros");
  }
  WEFT_TRY(in.finish());
  return query;
}

Bytes DiscoveryAnswer::signed_part() const {
  WEFT_CHECK(open.has_value() == (invite == DiscoveryInvite::kOpen));
  Writer out;
  write_head(out, kAnswerKind);
  out.raw(nonce).raw(tag).raw(key).u64(static_cast<std::uint64_t>(unix_time_s)).u32(members);
  out.text(to_printable_name(name, kDiscoveryNameBytesMax));
  write_endpoints(out, endpoints);
  out.u8(static_cast<std::uint8_t>(invite));
  if (open) write_open(out, *open);
  return out.raw(run_proof).take();
}

Bytes DiscoveryAnswer::encode() const {
  Bytes bytes = signed_part();
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

Result<DiscoveryAnswer> DiscoveryAnswer::decode(ByteSpan bytes) {
  Reader in("discovery_answer", bytes);
  DiscoveryAnswer answer;
  read_head(in, kAnswerKind);
  answer.nonce = in.raw<16>("nonce");
  answer.tag = in.raw<32>("tag");
  answer.key = in.raw<32>("key");
  answer.unix_time_s = static_cast<std::int64_t>(in.u64("unix_time"));
  answer.members = in.u32("members");
  answer.name = read_printable_name(in, "name", kDiscoveryNameBytesMax);
  answer.endpoints = read_endpoints(in, 0);
  answer.invite = read_invite(in);
  if (answer.invite == DiscoveryInvite::kOpen) answer.open = read_open(in);
  answer.run_proof = in.raw<32>("run_proof");
  answer.signature = in.raw<64>("signature");
  WEFT_TRY(in.finish());
  return answer;
}

Bytes CodeAnswer::encode() const {
  WEFT_CHECK(sealed.size() <= kCodeSealedBytesMax);
  Writer out;
  write_head(out, kCodeAnswerKind);
  return out.raw(nonce).bytes(sealed).take();
}

Result<CodeAnswer> CodeAnswer::decode(ByteSpan bytes) {
  Reader in("code_answer", bytes);
  CodeAnswer answer;
  read_head(in, kCodeAnswerKind);
  answer.nonce = in.raw<16>("nonce");
  const ByteSpan sealed = in.bytes("sealed", kCodeSealedBytesMax);
  answer.sealed = Bytes(sealed.begin(), sealed.end());
  WEFT_TRY(in.finish());
  return answer;
}

Bytes CodeTicket::signed_part() const {
  return Writer().raw(key).raw(salt).text(to_printable(ticket, kCodeTicketBytesMax)).take();
}

Bytes CodeTicket::encode() const {
  Bytes bytes = signed_part();
  bytes.insert(bytes.end(), signature.begin(), signature.end());
  return bytes;
}

Result<CodeTicket> CodeTicket::decode(ByteSpan bytes) {
  Reader in("code_ticket", bytes);
  CodeTicket out;
  out.key = in.raw<32>("key");
  out.salt = in.raw<32>("salt");
  out.ticket = read_printable(in, "ticket", kCodeTicketBytesMax);
  out.signature = in.raw<64>("signature");
  WEFT_TRY(in.finish());
  return out;
}

}  // namespace weft
