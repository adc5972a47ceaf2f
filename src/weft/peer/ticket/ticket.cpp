#include "weft/peer/ticket.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/peer/second_half.h"
#include "weft/wire/codec.h"

namespace weft {

namespace {

std::string in_words(std::int64_t seconds) {
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} minutes", seconds / 60);
  if (seconds < 2 * 86400) return fmt::format("{} hours", seconds / 3600);
  return fmt::format("{} days", seconds / 86400);
}

Hash256 proof_hmac(const Hash256& secret, const JoinProof& proof, ProofPurpose purpose,
                   const ProofLink& link) {
  Writer message;
  message.text("weft join proof")
      .u8(static_cast<std::uint8_t>(purpose))
      .u16(proof.version)
      .raw(proof.run)
      .raw(proof.invitation)
      .u64(static_cast<std::uint64_t>(proof.expiry_unix_s))
      .peer(link.joiner)
      .peer(link.member)
      .raw(link.exporter);
  return hmac_sha256(secret, message.written());
}

}  // namespace

Status check_expiry(const Ticket& ticket, std::int64_t now_unix_s) {
  if (now_unix_s < ticket.expiry_unix_s) return {};
  // The expiry may be any number; the difference is taken where it cannot overflow.
  const std::int64_t ago = now_unix_s - std::max<std::int64_t>(ticket.expiry_unix_s, 0);
  return invalid_argument(
      fmt::format("ticket: expired {} ago; ask a member for a new one", in_words(ago)));
}

RecipeCheck recipe_check(const RunId& run, const InvitationId& invitation,
                         const Hash256& recipe_hash) {
  const Bytes message =
      Writer().text("weft ticket recipe").raw(run).raw(invitation).raw(recipe_hash).take();
  const Hash256 hash = sha256(message);
  RecipeCheck check{};
  std::copy_n(hash.begin(), check.size(), check.begin());
  return check;
}

bool names_recipe(const Ticket& ticket, const Hash256& recipe_hash) {
  return recipe_check(ticket.run, ticket.invitation, recipe_hash) == ticket.recipe;
}

InvitationId make_invitation_id(const std::array<std::uint8_t, 8>& drawn) {
  InvitationId id{};
  std::copy(drawn.begin(), drawn.end(), id.begin());
  return with_second_half(id);
}

Hash256 invitation_secret(const Hash256& invitation_key, const RunId& run,
                          const InvitationId& invitation, std::int64_t expiry_unix_s) {
  const Bytes message = Writer()
                            .text("weft invitation")
                            .raw(run)
                            .raw(invitation)
                            .u64(static_cast<std::uint64_t>(expiry_unix_s))
                            .take();
  return with_second_half(hmac_sha256(invitation_key, message));
}

JoinProof make_proof(const Ticket& ticket, ProofPurpose purpose, const ProofLink& link) {
  JoinProof proof;
  proof.run = ticket.run;
  proof.invitation = ticket.invitation;
  proof.expiry_unix_s = ticket.expiry_unix_s;
  proof.hmac = proof_hmac(ticket.secret, proof, purpose, link);
  return proof;
}

bool check_proof(const JoinProof& proof, const Hash256& invitation_key, ProofPurpose purpose,
                 const ProofLink& link) {
  const Hash256 secret =
      invitation_secret(invitation_key, proof.run, proof.invitation, proof.expiry_unix_s);
  return equal_constant_time(proof_hmac(secret, proof, purpose, link), proof.hmac);
}

Hash256 member_proof(const Hash256& invitation_key, const RunId& run, const ProofLink& link) {
  const Bytes message = Writer()
                            .text("weft member")
                            .raw(run)
                            .raw(link.exporter)
                            .peer(link.joiner)
                            .peer(link.member)
                            .take();
  return hmac_sha256(invitation_key, message);
}

RunId make_run_id(const Hash256& recipe_hash, const Hash256& nonce) {
  return with_second_half(Sha256()
                              .update(as_bytes(std::string_view("weft run")))
                              .update(recipe_hash)
                              .update(nonce)
                              .finish());
}

}  // namespace weft
