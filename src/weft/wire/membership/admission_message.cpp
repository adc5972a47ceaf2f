#include "weft/wire/admission_message.h"

#include "weft/wire/codec.h"
#include "weft/wire/printable.h"

namespace weft {

std::string_view to_string(Offence offence) {
  switch (offence) {
    case Offence::kMalformed:
      return "malformed message";
    case Offence::kWrongHash:
      return "wrong hash";
    case Offence::kFalseSuspicion:
      return "false suspicion";
    case Offence::kRefusedProof:
      return "refused proof";
    case Offence::kFlood:
      return "too many frames";
    case Offence::kByHand:
      return "a person's wish";
    case Offence::kFalsified:
      return "falsified data";
  }
  return "unknown";
}

Bytes AccusationMessage::encode() const {
  return Writer()
      .peer(accused)
      .u8(static_cast<std::uint8_t>(offence))
      .text(to_printable(evidence, kReasonBytesMax))
      .take();
}

Result<AccusationMessage> AccusationMessage::decode(ByteSpan bytes) {
  Reader in("accusation", bytes);
  AccusationMessage message;
  message.accused = in.peer("accused");
  const std::uint8_t offence = in.u8("offence");
  if (offence > static_cast<std::uint8_t>(Offence::kFalsified)) {
    in.fail("offence", "expected 0 to 6");
  } else {
    message.offence = static_cast<Offence>(offence);
  }
  message.evidence = read_printable(in, "evidence", kReasonBytesMax);
  WEFT_TRY(in.finish());
  return message;
}

Bytes RevocationMessage::encode() const {
  WEFT_CHECK(invitations.size() <= kRevokedMax && bans.size() <= kBansMax);
  Writer out;
  out.u64(renewals).raw(key).u32(static_cast<std::uint32_t>(invitations.size()));
  for (const InvitationId& invitation : invitations) out.raw(invitation);
  out.u32(static_cast<std::uint32_t>(bans.size()));
  for (const Ban& ban : bans) out.peer(ban.peer).text(to_printable(ban.reason, kReasonBytesMax));
  return out.take();
}

Result<RevocationMessage> RevocationMessage::decode(ByteSpan bytes) {
  Reader in("revocation", bytes);
  RevocationMessage message;
  message.renewals = in.u64("renewals");
  message.key = in.raw<32>("key");
  const std::uint32_t invitations = in.count("invitations", kRevokedMax);
  for (std::uint32_t i = 0; i < invitations && !in.failed(); ++i) {
    message.invitations.push_back(in.raw<16>("invitation"));
  }
  const std::uint32_t bans = in.count("bans", kBansMax);
  for (std::uint32_t i = 0; i < bans && !in.failed(); ++i) {
    Ban ban;
    ban.peer = in.peer("ban.peer");
    ban.reason = read_printable(in, "ban.reason", kReasonBytesMax);
    message.bans.push_back(std::move(ban));
  }
  WEFT_TRY(in.finish());
  return message;
}

Bytes MemberProofMessage::encode() const { return Writer().raw(hmac).take(); }

Result<MemberProofMessage> MemberProofMessage::decode(ByteSpan bytes) {
  Reader in("member_proof", bytes);
  MemberProofMessage message;
  message.hmac = in.raw<32>("hmac");
  WEFT_TRY(in.finish());
  return message;
}

}  // namespace weft
