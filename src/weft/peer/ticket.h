// Ticket: the line one pastes to let another machine join a run: weft2-... in base32.
//
// It names the run, its recipe by a hash, a few members with their keys and addresses, and carries
// an invitation: an id, an expiry and a secret derived from the run's invitation key. Anybody who
// has the ticket may join until it expires; the secret itself never crosses the network (see
// wire/join_message.h). The checksum catches a line that was cut or mistyped; a ticket altered on
// purpose fails at the member, whose proof covers every field that matters.
//
//   line     = "weft2-", base32 of (fields, first 3 bytes of SHA-256 of "weft2-" and fields)
//   fields   = head u8, run 16 or 32, recipe 16, invitation 8 or 16, expiry u32, secret 16 or 32,
//              members x (peer 32, endpoint, ...)
//   head     = members (bits 0 to 3); the run, invitation, secret stands in full (bits 4, 5, 6)
//   endpoint = kind (bits 0, 1), port as before (bit 2), last of its member (bit 3), [port u16],
//              then by kind 0: IPv4 4; 1: IPv6 16; 2: host, length u8 and text; 3: 127.0.0.1
//
// One member with two IPv4 addresses makes 179 characters. What was left out is of no use to an
// attacker:
//
//   run, secret  Their second halves are hashes of the first (peer/second_half.h). The run id is a
//                key of discovery and rendezvous, the secret that of the proofs: 2^128 guesses
//                each. A founder that searches two recipes with one run id would need 2^64, and
//                gains nothing: the next field binds the recipe.
//   recipe       16 bytes of a hash over the recipe's own hash, the run and the invitation, whose
//                id is drawn when the ticket is made. To give its holder another recipe one needs
//                a second preimage, 2^128; a pair of recipes that was prepared beforehand (2^64
//                without the id) matches no later ticket.
//   invitation   8 drawn bytes distinguish invitations; a guessed one admits nobody.
//   expiry       seconds since 1970 up to the year 2106; the secret is a function of it.
//   peer         is complete, so that nobody without a member's key can replace it.
//   checksum     is against typing errors only, and misses one in 16 million.
// Threads: values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/net/transport.h"
#include "weft/wire/ids.h"
#include "weft/wire/join_message.h"

namespace weft {

inline constexpr std::uint32_t kTicketAddressesMax = 8;
inline constexpr std::size_t kTicketTextMax = 8192;
// Later ones find no room in a line.
inline constexpr std::int64_t kTicketExpiryMax = 0xffffffff;

// Which recipe a ticket is for.
using RecipeCheck = std::array<std::uint8_t, 16>;

struct Ticket {
  RunId run{};
  RecipeCheck recipe{};
  // Members to ask, in this order; each with its key's hash, so that nobody can stand in for it.
  std::vector<PeerAddress> members;
  InvitationId invitation{};
  // Seconds since 1970-01-01 UTC; the members refuse it from then on.
  std::int64_t expiry_unix_s = 0;
  Hash256 secret{};
};

// Leaves out addresses that are not HOST:PORT, and members without any.
std::string format_ticket(const Ticket& ticket);
// kInvalidArgument for a line that is no ticket, is of another version, was cut, mistyped or has a
// member without address; the message says which. Takes any bytes, as people paste them: blanks and
// line ends within, quotes and <> around, and words before the ticket, such as "weft join", are
// passed over.
Result<Ticket> parse_ticket(std::string_view text);
// kInvalidArgument, with how long ago, if the ticket's time is over.
Status check_expiry(const Ticket& ticket, std::int64_t now_unix_s);

// The field that a ticket of this run and invitation has for the recipe with this hash.
RecipeCheck recipe_check(const RunId& run, const InvitationId& invitation,
                         const Hash256& recipe_hash);
// Whether the ticket is for the recipe with this hash.
bool names_recipe(const Ticket& ticket, const Hash256& recipe_hash);
// An id that a ticket carries in 8 bytes, from as many that were drawn.
InvitationId make_invitation_id(const std::array<std::uint8_t, 8>& drawn);

// The secret of one invitation, of 128 bits: a function of the run's key, so that every member can
// check any invitation and an altered expiry gives another secret.
Hash256 invitation_secret(const Hash256& invitation_key, const RunId& run,
                          const InvitationId& invitation, std::int64_t expiry_unix_s);

// What a proof is for; the purpose is part of what is signed.
enum class ProofPurpose : std::uint8_t { kRecipe = 1, kJoin = 2 };

// Which link a proof is made for.
struct ProofLink {
  PeerId joiner;
  PeerId member;
  std::array<std::uint8_t, 32> exporter{};
};

JoinProof make_proof(const Ticket& ticket, ProofPurpose purpose, const ProofLink& link);
// True if `proof` was made with the secret of the invitation it names, for this link.
bool check_proof(const JoinProof& proof, const Hash256& invitation_key, ProofPurpose purpose,
                 const ProofLink& link);

// Shows to `link.member` that `link.joiner` holds the run's invitation key; worth nothing on any
// other link, nor the other way round.
Hash256 member_proof(const Hash256& invitation_key, const RunId& run, const ProofLink& link);

// The run id of a recipe: hash of its hash and a nonce.
RunId make_run_id(const Hash256& recipe_hash, const Hash256& nonce);

}  // namespace weft
