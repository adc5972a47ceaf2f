// Ticket: the line one pastes to let another machine join a run: weft1-... in base32.
//
// It names the run, its recipe by hash, a few members with their keys and addresses, and carries
// an invitation: an id, an expiry and a secret derived from the run's invitation key. Whoever holds
// the line may join until it expires; the secret itself never crosses the network (see
// wire/join_message.h). The checksum catches a line that was cut or mistyped; a ticket altered on
// purpose fails at the member, whose proof covers every field that matters.
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

struct Ticket {
  RunId run{};
  Hash256 recipe_hash{};
  // Members to ask, in this order; each with its key's hash, so that nobody can stand in for it.
  std::vector<PeerAddress> members;
  InvitationId invitation{};
  // Seconds since 1970-01-01 UTC; the members refuse it from then on.
  std::int64_t expiry_unix_s = 0;
  Hash256 secret{};
};

// "weft1-" and base32 of the fields and 4 bytes of checksum.
std::string format_ticket(const Ticket& ticket);
// kInvalidArgument for a line that is no ticket, was cut, mistyped or has a member without
// address; the message says which. Takes any bytes, as people paste them: blanks and line ends
// within, quotes and <> around, and words before the ticket, such as "weft join", are passed over.
Result<Ticket> parse_ticket(std::string_view text);
// kInvalidArgument, with how long ago, if the ticket's time is over.
Status check_expiry(const Ticket& ticket, std::int64_t now_unix_s);

// The secret of one invitation: a function of the run's key, so that every member can check any
// invitation and an altered expiry gives another secret.
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
