// The messages of methods of loose exchange: a combiner gives members a model, and they return what
// they made of it.
//
//   given    = vector, version u64, steps u32
//   returned = vector, base u64, steps u32, seconds f64, loss f64 (any, also no number),
//              correct f64, samples f64, labels f64
//   vector   = letter u64, bytes u64, piece u32; body: that piece of the vector's bytes
//   history  = origin u32, round u64, distance u32
//   received = letters u64
//   roster   = count u32 x (peer 32, count u32 x endpoint text), by the members' numbers
//   leaving  = nothing
//
// A model is f32 little-endian; what is returned is that, or the payload of the codec that the
// recipe names; where members report on others, a history and that member's model may
// stand behind it in the same vector. Bytes travel in pieces of kMixPieceBytes, the last one the
// rest, in order; each has the whole head. A given or returned vector is a letter, and each member
// counts those that it sends to another from 0: *received* names how many have come whole, as the
// first message on each link and after each letter. What a link loses is sent again over the next
// one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::uint64_t kMixBytesMax = std::uint64_t{1} << 42U;
// One frame's body.
inline constexpr std::uint64_t kMixPieceBytes = 1024 * 1024;
inline constexpr std::uint32_t kMixStepsMax = 1U << 30U;
// So that a roster fits into a frame's head, whatever the addresses are.
inline constexpr std::uint32_t kMixMembersMax = 512;

// Which part of a vector a frame's body is.
struct MixPiece {
  std::uint64_t letter = 0;
  std::uint64_t bytes = 1;
  std::uint32_t piece = 0;

  std::uint64_t pieces() const { return (bytes + kMixPieceBytes - 1) / kMixPieceBytes; }
  std::uint64_t begin() const { return piece * kMixPieceBytes; }
  // The size of the body. REQUIRES: piece < pieces().
  std::size_t size() const;
  friend bool operator==(const MixPiece&, const MixPiece&) = default;
};

struct MixGivenMessage {
  MixPiece vector;
  std::uint64_t version = 0;
  std::uint32_t steps = 0;
  Bytes encode() const;
  static Result<MixGivenMessage> decode(ByteSpan bytes);
};

struct MixReturnedMessage {
  MixPiece vector;
  std::uint64_t base = 0;
  std::uint32_t steps = 0;
  double seconds = 0;
  // Sums over the samples that it was computed from.
  double loss = 0;
  double correct = 0;
  double samples = 0;
  double labels = 0;
  Bytes encode() const;
  static Result<MixReturnedMessage> decode(ByteSpan bytes);
};

// Whose model stands behind it, of which round, and over how many links it has come.
inline constexpr std::size_t kMixHistoryBytes = 4 + 8 + 4;
inline constexpr std::uint32_t kMixDistanceMax = 1U << 16U;
struct MixHistoryMessage {
  std::uint32_t origin = 0;
  std::uint64_t round = 0;
  std::uint32_t distance = 1;  // 1 to kMixDistanceMax
  Bytes encode() const;
  static Result<MixHistoryMessage> decode(ByteSpan bytes);
};

struct MixReceivedMessage {
  std::uint64_t letters = 0;
  Bytes encode() const;
  static Result<MixReceivedMessage> decode(ByteSpan bytes);
};

// Who takes part: the member at place i has number i.
struct MixRosterMessage {
  struct Member {
    PeerId id;
    std::vector<std::string> endpoints{};
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members{};
  Bytes encode() const;
  // Fails also where a peer is named twice.
  static Result<MixRosterMessage> decode(ByteSpan bytes);
};

// Its sender takes part no more.
struct MixLeavingMessage {
  Bytes encode() const;
  static Result<MixLeavingMessage> decode(ByteSpan bytes);
};

}  // namespace weft
