// Collective messages: what the members of one view send each other about a round.
//
//   id           := view:ViewId round:u64
//   exchange_id  := id exchange:u8
//   segment      := exchange_id op:u8 form:u8 elements:u64 segment:u32
//                   (frame kSegment, lane bulk; body = the segment's values, in the form's
//                   precision)
//   ready        := id count:u8 count x (team:16 bytes elements:u64 received:bytes)
//                   (kReady, control; count is 1 to kExchangesMax)
//   done         := id result_hash:16 bytes                  (kDone, control)
//   finished     := round:u64                                (kFinished, control)
//   state_hash   := id total:16 bytes count:u32 count x 16 bytes   (kStateHash, control)
//   progress     := id query:u8 contributed:u8 waits_for:peer      (kProgress, control)
//   report       := id report:bytes                          (kReport, control)
//   reports      := count:u32 count x report:bytes   (no frame: a part of a result, by rank)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/codec.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::size_t kReceivedMapBytesMax = 128 * 1024;
inline constexpr std::uint32_t kTensorHashesMax = 8192;
// The limit for one member in one round.
inline constexpr std::size_t kReportBytesMax = 4096;
inline constexpr std::uint32_t kReportsMax = 4096;  // members of a round

// A round has at most so many exchanges: their number and the place of each are one byte.
inline constexpr std::size_t kExchangesMax = 250;
// The limit for the length of one exchange's vector that a message may state.
inline constexpr std::uint64_t kExchangeElementsMax = std::uint64_t{1} << 48;

// Names one round: every member runs it at most once in one view.
struct CollectiveId {
  ViewId view;
  Round round;
  friend bool operator==(const CollectiveId&, const CollectiveId&) = default;
};

// Names one exchange of a round, by its place among the exchanges of that round.
struct ExchangeId {
  ViewId view;
  Round round;
  std::uint8_t exchange = 0;
  CollectiveId of_round() const { return {view, round}; }
  friend bool operator==(const ExchangeId&, const ExchangeId&) = default;
};

// Names a team (collective/team/team.h): a hash over its view, its purpose and its members.
using TeamId = Hash128;

enum class CollectiveOp : std::uint8_t {
  kReduce = 0,  // a partial sum, or an input, on its way to the chunk's owner
  kGather = 1,  // a finished sum on its way to everybody
  kDirect = 2,  // small vectors: the sender's whole input
  kTree = 3,    // small vectors: the sum of a block of members; `segment` is the step
  // Robust aggregation: the distances that an owner has computed, f64 each; `segment` is 0.
  kDistances = 4,
  kPayload = 5,  // a piece of the sender's encoded input; `segment` counts them
  // Verified rounds; the bodies are those of wire/verify_message.h.
  kCommitment = 6,
  kStatements = 7,
  kEcho = 8,
  kInputRequest = 9,  // the receiver's input for the chunk of rank `segment`, once more; no body
  // Anyone's input, which its receiver checks; `segment` + count of segments x the contributor.
  kInput = 10,
  // A part of the finished result, as f32, for a member outside of the team.
  kDelivery = 11,
};

// The head of a frame of data.
struct SegmentHead {
  ExchangeId id;
  CollectiveOp op{};
  // What is exchanged, along which links and in which precision; it is the same at all members.
  std::uint8_t form = 0;
  std::uint64_t elements = 0;  // of the whole vector
  std::uint32_t segment = 0;

  Bytes encode() const;
  static Result<SegmentHead> decode(ByteSpan bytes);
};

// "I take data of this round now, and already have this much": sent to all members when a view
// begins, and to a member whose link came back. `received` has one byte for each segment: 0
// nothing, 1 the partial sum, 2 the finished sum; an empty map means nothing at all. All maps
// together have at most kReceivedMapBytesMax bytes.
struct ReadyMessage {
  struct Exchange {
    TeamId team{};
    std::uint64_t elements = 0;  // at most kExchangeElementsMax
    Bytes received;
  };
  CollectiveId id;
  std::vector<Exchange> exchanges;

  // All exchanges together.
  std::uint64_t elements() const;

  Bytes encode() const;
  static Result<ReadyMessage> decode(ByteSpan bytes);
};

// Reads the field `received`, which a group's messages have as well.
Bytes read_received_map(class Reader& in, std::size_t bytes_max = kReceivedMapBytesMax);

// "I hold the whole result."
struct DoneMessage {
  CollectiveId id;
  Hash128 result_hash{};

  Bytes encode() const;
  static Result<DoneMessage> decode(ByteSpan bytes);
};

// "I have applied the last round."
struct FinishedMessage {
  Round round;

  Bytes encode() const;
  static Result<FinishedMessage> decode(ByteSpan bytes);
};

struct StateHashMessage {
  CollectiveId id;
  Hash128 total{};
  std::vector<Hash128> tensors;

  Bytes encode() const;
  static Result<StateHashMessage> decode(ByteSpan bytes);
};

// How far the sender is in a round: queried when the round stalls, to find the member that others
// wait for.
struct ProgressMessage {
  CollectiveId id;
  bool query = false;
  bool contributed = false;
  // The member that the sender waits for; all zeros if it waits for nobody.
  PeerId waits_for;

  Bytes encode() const;
  static Result<ProgressMessage> decode(ByteSpan bytes);
};

// What the sender has to say of its part of a round; opaque here, at most kReportBytesMax bytes.
struct ReportMessage {
  CollectiveId id;
  Bytes report;

  Bytes encode() const;
  static Result<ReportMessage> decode(ByteSpan bytes);
};

// The reports of all members of a round, by rank, as they are kept and fetched with its sums.
struct RoundReports {
  // At most kReportsMax, of at most kReportBytesMax bytes each.
  std::vector<Bytes> by_rank;

  Bytes encode() const;
  static Result<RoundReports> decode(ByteSpan bytes);
};
// The limit for their encoding. Without any report the encoding is empty.
inline constexpr std::size_t kRoundReportsBytesMax =
    sizeof(std::uint32_t) + kReportsMax * (sizeof(std::uint32_t) + kReportBytesMax);

// What names the result of a round: its sums, and the encoded reports where the round has any.
Hash128 result_hash(std::span<const float> sums, ByteSpan reports);

}  // namespace weft
