// The messages about who may no longer take part, and about who the members are.
//
//   accusation = accused 32, offence u8, evidence text
//   revocation = renewals u64, key 32, count u32 x invitation 16, count u32 x ban
//   ban        = peer 32, reason text
//   member_proof = hmac 32
//
// An accusation is one member's vote to expel another one, from its own experience: links carry no
// signatures, so nobody can prove to a third peer what it received. A revocation adds to what the
// receiver has stored, and nothing takes it back. A newcomer gets it without the key. A member
// proof shows to a peer of another view that the sender holds the run's present invitation key, as
// only members do; it is valid on its link only (peer/ticket.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/join_message.h"

namespace weft {

// Bounds of what a run stores; a whole revocation message stays below 100 KiB.
inline constexpr std::uint32_t kRevokedMax = 1024;
inline constexpr std::uint32_t kBansMax = 256;

// What no correct peer does, or what only a person can decide.
enum class Offence : std::uint8_t {
  kMalformed = 0,       // a message that does not decode, or that cannot be meant here
  kWrongHash = 1,       // state or results with another hash than announced
  kFalseSuspicion = 2,  // withdrew a suspicion though heartbeats arrived here without a gap
  kRefusedProof = 3,    // a ticket or a proof that nobody in this run issued
  kFlood = 4,           // more frames than a stranger may send
  kByHand = 5,          // a person at this member wants it out
  kFalsified = 6,       // lied in a verified round, as this member has found out by itself
};
std::string_view to_string(Offence offence);

struct AccusationMessage {
  PeerId accused;
  Offence offence = Offence::kMalformed;
  // What was observed, as text for people.
  std::string evidence;
  Bytes encode() const;
  static Result<AccusationMessage> decode(ByteSpan bytes);
};

// A peer that the members have expelled for the rest of the run.
struct Ban {
  PeerId peer;
  std::string reason;
  friend bool operator==(const Ban&, const Ban&) = default;
};

// Names every invitation issued so far. The ids of single invitations are drawn at random.
inline constexpr InvitationId kAllInvitations{};

struct RevocationMessage {
  // How often the invitation key was renewed, and the key since then. 0: the message carries no
  // key.
  std::uint64_t renewals = 0;
  Hash256 key{};
  std::vector<InvitationId> invitations;
  std::vector<Ban> bans;
  Bytes encode() const;
  static Result<RevocationMessage> decode(ByteSpan bytes);
};

struct MemberProofMessage {
  Hash256 hmac{};
  Bytes encode() const;
  static Result<MemberProofMessage> decode(ByteSpan bytes);
};

}  // namespace weft
