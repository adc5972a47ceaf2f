// Verify messages: what members of a round sign about it, so that each lie leaves evidence.
//
//   statement  := kind:u8 by:u32 chunk:u32 contributor:u32 digest:32 bytes key:32 bytes
//                 signature:64 bytes
//   commitment := statement nonce_hash:32 bytes count:u32 count x 32 bytes
//   table      := statement values:bytes
//   echo       := nonce:32 bytes count:u32 count x statement
//   statements := count:u32 count x statement
//
// They travel as bodies of frames kSegment, whose head names the round (wire/collective_message.h).
// The bytes that are signed name the round as well, so a statement says nothing about another one.
// What they are for: collective/verify/verified_butterfly.h.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/collective_message.h"

namespace weft {

// Members of a verified round, as kAggregatorMembersMax.
inline constexpr std::uint32_t kVerifiedMembersMax = 256;
// An echo has three kinds of each member.
inline constexpr std::uint32_t kStatementsMax = 3 * kVerifiedMembersMax;
inline constexpr std::size_t kDistanceTableBytesMax =
    (kVerifiedMembersMax + 1) * kVerifiedMembersMax / 2 * sizeof(double);

enum class StatementKind : std::uint8_t {
  // What a member says of itself, one of each kind in a round; `chunk` and `contributor` are 0.
  kCommitment = 0,  // the hash of its commitment
  kTable = 1,       // the hash of its chunk's distances
  kResult = 2,      // the hash of its finished chunk
  // What it says of the chunk of rank `chunk`; `contributor` and the digest are 0.
  kRight = 3,  // it has repeated the chunk
  kFalse = 4,  // it has, and another one comes out
  // The input of rank `contributor` for the chunk of rank `chunk` is not the one that was committed
  // to; the digest is 0.
  kComplaint = 5,
};

struct Statement {
  StatementKind kind{};
  // Ranks in the view.
  std::uint32_t by = 0;
  std::uint32_t chunk = 0;
  std::uint32_t contributor = 0;
  Hash256 digest{};
  // The signer's public key; its PeerId is the hash of it.
  std::array<std::uint8_t, 32> key{};
  std::array<std::uint8_t, 64> signature{};

  // What is signed.
  Bytes signed_bytes(const ExchangeId& id) const;
  Bytes encode() const;
  static Result<Statement> decode(ByteSpan bytes);
  friend bool operator==(const Statement&, const Statement&) = default;
};

// Sent to all before any data: the hash of each part of the input, by owner.
struct CommitmentMessage {
  Statement statement;
  // The hash of the nonce that the echo reveals.
  Hash256 nonce_hash{};
  std::vector<Hash256> inputs;

  // The digest that the statement has to have.
  Hash256 digest() const;
  Bytes encode() const;
  static Result<CommitmentMessage> decode(ByteSpan bytes);
};

struct TableMessage {
  Statement statement;
  // f64 each, as Distances::values().
  Bytes values;

  Bytes encode() const;
  static Result<TableMessage> decode(ByteSpan bytes);
};

// What its sender has from each member, once it has everything.
struct EchoMessage {
  Hash256 nonce{};
  std::vector<Statement> statements;

  Bytes encode() const;
  static Result<EchoMessage> decode(ByteSpan bytes);
};

struct StatementsMessage {
  std::vector<Statement> statements;

  Bytes encode() const;
  static Result<StatementsMessage> decode(ByteSpan bytes);
};

}  // namespace weft
