// State messages: how a newcomer or a member that lags gets what the others already have.
//
//   query          := (empty)                          kStateQuery, control: "which snapshot?"
//   offer          := has u8 [, manifest]              kStateOffer, control
//   manifest       := round u64, bytes u64, count u32 x SHA-256 32
//   block_name     := manifest id 32, index u32        kBlockRequest, control; kBlock, bulk, with
//                                                      the block as its body
//   block_missing  := manifest id 32                   kBlockMissing, control: "kept no more"
//   result_request := round u64                        kResultRequest, control
//   result         := round u64, newest u64, elements u64, piece u32, hash 16
//                                                      kResult, bulk, body = f32 values
//   result_missing := round u64, oldest u64, newest u64
//                                                      kResultMissing, control
//
// A snapshot is cut into blocks of kStateBlockBytes (the last may be shorter), each named by its
// SHA-256: any member that made the same snapshot may serve any block. A result is cut into pieces
// of kStateBlockBytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

inline constexpr std::size_t kStateBlockBytes = std::size_t{1} << 20;
// A manifest must fit the head of a frame.
inline constexpr std::uint32_t kStateBlocksMax = 8000;

// The parts of a snapshot of the state after `round`.
struct SnapshotManifest {
  Round round;
  std::uint64_t bytes = 0;
  std::vector<Hash256> blocks;

  // SHA-256 of the encoded manifest: equal for equal snapshots.
  Hash256 id() const;
  std::size_t block_bytes(std::uint32_t index) const;
  friend bool operator==(const SnapshotManifest&, const SnapshotManifest&) = default;
};

SnapshotManifest make_manifest(Round round, ByteSpan state);

struct StateOfferMessage {
  // Empty: no snapshot yet, one will be made; ask again.
  std::optional<SnapshotManifest> manifest;
  Bytes encode() const;
  static Result<StateOfferMessage> decode(ByteSpan bytes);
};

// What is asked for by kBlockRequest and what kBlock brings.
struct BlockName {
  Hash256 manifest{};
  std::uint32_t index = 0;
  Bytes encode() const;
  static Result<BlockName> decode(ByteSpan bytes);
};

struct BlockMissingMessage {
  Hash256 manifest{};
  Bytes encode() const;
  static Result<BlockMissingMessage> decode(ByteSpan bytes);
};

// "Send me the sums of this round, as soon as you have them."
struct ResultRequestMessage {
  Round round;
  Bytes encode() const;
  static Result<ResultRequestMessage> decode(ByteSpan bytes);
};

struct ResultHead {
  Round round;
  // The highest round committed at the sender.
  Round newest;
  // Of the whole result.
  std::uint64_t elements = 0;
  std::uint32_t piece = 0;
  Hash128 hash{};
  Bytes encode() const;
  static Result<ResultHead> decode(ByteSpan bytes);
};

// "I keep the rounds from `oldest` to `newest` only": the asker needs a newer snapshot.
struct ResultMissingMessage {
  Round round;
  Round oldest;
  Round newest;
  Bytes encode() const;
  static Result<ResultMissingMessage> decode(ByteSpan bytes);
};

}  // namespace weft
