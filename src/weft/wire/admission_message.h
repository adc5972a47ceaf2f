// The messages by which members tell each other who may take part no longer, and who they are.
//
//   accusation = accused 32, offence u8, evidence text
//   revocation = renewals u64, key 32, count u32 x invitation 16, count u32 x ban
//   ban        = peer 32, reason text
//   member_proof = hmac 32
//
// An accusation is one member's voice for putting another one out, from its own experience: links
// carry no signatures, so nobody can prove to a third what it received. A revocation adds to what
// the receiver knows; nothing takes it back. To a newcomer it tells of no key. A member proof shows
// to a peer of another view that the sender holds the run's present invitation key, as members and
// nobody else do; it holds for its link only (peer/ticket.h).
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

// What a run remembers at most; a whole revocation message stays below 100 KiB.
inline constexpr std::uint32_t kRevokedMax = 1024;
inline constexpr std::uint32_t kBansMax = 256;

// What no correct peer does, or what only a person can say.
enum class Offence : std::uint8_t {
  kMalformed = 0,       // a message that does not decode, or that cannot be meant here
  kWrongHash = 1,       // state or results that are not what it said they were
  kFalseSuspicion = 2,  // took back a suspicion of a member that was heard here all the while
  kRefusedProof = 3,    // a ticket or a proof that nobody of this run made
  kFlood = 4,           // more frames than a stranger may send
  kByHand = 5,          // a person at this member wants it out
};
std::string_view to_string(Offence offence);

struct AccusationMessage {
  PeerId accused;
  Offence offence = Offence::kMalformed;
  // For people: what was seen.
  std::string evidence;
  Bytes encode() const;
  static Result<AccusationMessage> decode(ByteSpan bytes);
};

// A peer that the members have put out for the rest of the run.
struct Ban {
  PeerId peer;
  std::string reason;
  friend bool operator==(const Ban&, const Ban&) = default;
};

// Stands for every invitation so far. Real ones are drawn at random.
inline constexpr InvitationId kAllInvitations{};

struct RevocationMessage {
  // How often the invitation key was renewed, and the key of then; 0: this tells nothing of it.
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
