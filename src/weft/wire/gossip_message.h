// The messages of gossip: members tell each other who takes part, and exchange parameters.
//
//   book               = count u32 x record, at most kBookMessageRecordsMax
//   record             = key 32, standing, presence
//   standing           = counter u64, left u8, count u32 x endpoint text, signature 64
//   presence           = round u64, signature 64
//   parameters         = round u64, degree u32, topology u8, newcomer u8, elements u64, piece u32,
//                        gathering u8;
//                        body: the values of that piece, f32 little-endian
//   absent             = round u64
//   parameters_request = attempt u64
//   welcome            = key 32
//
// A record speaks of one member, whose id is the hash of the key. Its two parts are signed by that
// member apart from each other, so that each can be replaced by a newer one alone
// (gossip/book/member_record.h says what is signed). The pieces of a parameter vector have
// kGossipPieceElements values each, the last one the rest.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::uint32_t kBookMessageRecordsMax = 256;
inline constexpr std::uint32_t kRecordEndpointsMax = 4;
inline constexpr std::size_t kRecordEndpointBytesMax = 96;
// All members of a full address book, and 512 that alone have an edge to the sender.
inline constexpr std::uint32_t kGossipDegreeMax = 4096 + 512;
inline constexpr std::uint64_t kGossipElementsMax = std::uint64_t{1} << 40U;
// One frame's body: 1 MiB.
inline constexpr std::uint64_t kGossipPieceElements = 256 * 1024;

using RecordSignature = std::array<std::uint8_t, 64>;

// Whether a member takes part, and where it can be reached.
struct MemberStanding {
  // Larger at every change.
  std::uint64_t counter = 0;
  bool left = false;
  // "host:port" each, the best first.
  std::vector<std::string> endpoints{};
  RecordSignature signature{};
  friend bool operator==(const MemberStanding&, const MemberStanding&) = default;
};

// Up to which round a member was there.
struct MemberPresence {
  Round round;
  RecordSignature signature{};
  friend bool operator==(const MemberPresence&, const MemberPresence&) = default;
};

struct MemberRecord {
  // Ed25519; the member's id is its SHA-256.
  std::array<std::uint8_t, 32> key{};
  MemberStanding standing{};
  MemberPresence presence{};
  friend bool operator==(const MemberRecord&, const MemberRecord&) = default;
};

struct GossipBookMessage {
  std::vector<MemberRecord> records;
  Bytes encode() const;
  static Result<GossipBookMessage> decode(ByteSpan bytes);
};

// The head of a frame whose body is one piece of the sender's parameters before round `round` is
// mixed.
struct GossipParametersHead {
  Round round;
  // Neighbours that the sender exchanges with in this round; Metropolis weights need it.
  std::uint32_t degree = 0;
  // Whether the sender's own topology has the edge; false: it answers a peer that thinks so.
  bool topology = true;
  // Sent on request, for a peer that has no parameters yet; it is in nobody's mix.
  bool newcomer = false;
  // The length of the whole vector.
  std::uint64_t elements = 0;
  std::uint32_t piece = 0;
  // With `newcomer`: the first round still waits for members, and so does the receiver.
  bool gathering = false;

  std::uint64_t pieces() const {
    return (elements + kGossipPieceElements - 1) / kGossipPieceElements;
  }
  // The size of the body. REQUIRES: piece < pieces().
  std::size_t piece_bytes() const;
  Bytes encode() const;
  static Result<GossipParametersHead> decode(ByteSpan bytes);
};

// "You get no parameters of mine for rounds up to this one, beyond those you have."
struct GossipAbsentMessage {
  Round round;
  Bytes encode() const;
  static Result<GossipAbsentMessage> decode(ByteSpan bytes);
};

// A newcomer asks for the receiver's latest parameters.
struct GossipParametersRequestMessage {
  // Counts the newcomer's requests, to tell one from the next.
  std::uint64_t attempt = 0;
  Bytes encode() const;
  static Result<GossipParametersRequestMessage> decode(ByteSpan bytes);
};

// "You have shown that you may take part." Nothing of gossip is sent to a peer before it.
struct GossipWelcomeMessage {
  // The run's invitation key, for a peer that came with a ticket; zeros for one that has the key.
  Hash256 key{};
  Bytes encode() const;
  static Result<GossipWelcomeMessage> decode(ByteSpan bytes);
};

// What a member signs of its record, so that a signature holds for one run and one part only.
Bytes signed_standing(const RunId& run, const MemberStanding& standing);
Bytes signed_presence(const RunId& run, const MemberPresence& presence);

}  // namespace weft
