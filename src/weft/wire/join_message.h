// The messages that a ticket holder and a member exchange: the only ones that a stranger may send.
//
//   proof          = version u16, run id 32, invitation 16, expiry i64, hmac 32
//   recipe_request = proof
//   recipe         = text, moved u8 [, successor]
//   successor      = run 32, recipe hash 32, invitation 16, expiry i64, secret 32
//   join_request   = proof, layout hash 32, recipe hash 32, member
//   join_accepted  = notice, which tells no key
//   join_refused   = code u8, retry after ms u32, reason text
//   admit_request  = incarnation u64, caught up round u64
//
// The proof is an HMAC under the invitation's secret over the purpose, the link's exporter and both
// peers' ids: it is worth nothing on any other link, and the secret is never sent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/membership_message.h"

namespace weft {

inline constexpr std::uint16_t kJoinVersion = 4;
inline constexpr std::size_t kRecipeBytesMax = 128 * 1024;
inline constexpr std::size_t kRefusalBytesMax = 400;

using InvitationId = std::array<std::uint8_t, 16>;

struct JoinProof {
  std::uint16_t version = kJoinVersion;
  RunId run{};
  InvitationId invitation{};
  std::int64_t expiry_unix_s = 0;
  Hash256 hmac{};
  friend bool operator==(const JoinProof&, const JoinProof&) = default;
};

struct RecipeRequestMessage {
  JoinProof proof;
  Bytes encode() const;
  static Result<RecipeRequestMessage> decode(ByteSpan bytes);
};

// An invitation to the run that continues the one whose ticket was proved: all members of that one
// had died, and one of them has founded it anew.
struct SuccessorRun {
  RunId run{};
  Hash256 recipe_hash{};
  InvitationId invitation{};
  std::int64_t expiry_unix_s = 0;
  Hash256 secret{};
  friend bool operator==(const SuccessorRun&, const SuccessorRun&) = default;
};

struct RecipeMessage {
  std::string text;
  std::optional<SuccessorRun> successor{};
  Bytes encode() const;
  static Result<RecipeMessage> decode(ByteSpan bytes);
};

struct JoinRequestMessage {
  JoinProof proof;
  Hash256 layout_hash{};
  Hash256 recipe_hash{};
  // The joiner itself; its id must be that of the link.
  Member joiner;
  Bytes encode() const;
  static Result<JoinRequestMessage> decode(ByteSpan bytes);
};

struct JoinAcceptedMessage {
  // The run's key follows with the view that admits the joiner.
  ViewNoticeMessage current;
  Bytes encode() const;
  static Result<JoinAcceptedMessage> decode(ByteSpan bytes);
};

enum class RefusalCode : std::uint8_t {
  kTryAgain = 0,  // after retry_after_ms
  kVersion = 1,
  kWrongRun = 2,
  kExpired = 3,
  kBadProof = 4,
  kRecipe = 5,
  kLayout = 6,
  kNotMember = 7,      // the asked peer is not a member itself: ask another one
  kUnknownJoiner = 8,  // the joiner must prove its ticket again
  kFull = 9,
  kRevoked = 10,    // the invitation was revoked
  kNotListed = 11,  // the run takes only the keys on its list
  kBanned = 12,     // the members have expelled this peer
  kTwin = 13,       // another process uses this peer's identity, and is alive
  kNoQuorum = 14,   // the asked member itself waits for others: ask another one, and this one later
  kQueued = 15,     // others take the state: as kTryAgain, with the place in the reason; from one
                    // member to another: newcomers wait here
  kBegun = 16,      // the run has begun, and those who were there are its members to the end
};

struct JoinRefusedMessage {
  RefusalCode code = RefusalCode::kTryAgain;
  std::uint32_t retry_after_ms = 0;
  std::string reason;
  Bytes encode() const;
  static Result<JoinRefusedMessage> decode(ByteSpan bytes);
};

// Sent during state transfer, once the joiner is at most one round behind, and repeated until it is
// admitted.
struct AdmitRequestMessage {
  std::uint64_t incarnation = 0;
  Round caught_up;
  Bytes encode() const;
  static Result<AdmitRequestMessage> decode(ByteSpan bytes);
};

}  // namespace weft
