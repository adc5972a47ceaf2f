// State messages: how a newcomer or a member that lags gets what the others already have.
//
//   query          := has u8 [, root 32]              kStateQuery, control: "which snapshot do you
//                                                      have? this one, if it is still there"
//   offer          := has u8 [, snapshot]              kStateOffer, control
//   snapshot       := round u64, bytes u64, root 32
//   block_name     := root 32, index u32               kBlockRequest, control
//   block          := root 32, index u32, count u8 x SHA-256 32
//                                                      kBlock, bulk, with the block as its body
//   block_missing  := root 32                          kBlockMissing, control: "kept no more"
//   result_request := round u64                        kResultRequest, control
//   result         := round u64, newest u64, elements u64, report bytes u32, piece u32, hash 16
//                                                      kResult, bulk, body = f32 sums, or a part of
//                                                      the reports (wire/collective_message.h)
//   result_missing := round u64, oldest u64, newest u64
//                                                      kResultMissing, control
//   history        := bytes u32, branch 32, samples u64, count u32 x (branch 32, until u64), zeros
//                                                      before a state where branches may merge
//   held           := round u64, root 32, run 32,      kHeldState, control: "I hold the state after
//                     view run 32, view u64,           this round"; a joiner from a checkpoint, and
//                     count u32 x peer 32,             a resumed founder that has taken it
//                     count u32 x past
//   past           := run 32, generation u32, until u64, proof 32
//   received       := bytes u64                        kStateReceived, control: "so many bytes of
//                                                      blocks and results have come over this link"
//
// A snapshot is cut into blocks of kStateBlockBytes (the last may be shorter), the leaves of a hash
// tree (wire/hash_tree.h). An offer names the root, and a block comes with its path to it: any
// member that made the same snapshot may serve any block, each is checked as it comes, and who
// sends a false one is known. A result is cut into pieces of kStateBlockBytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/ids.h"
#include "weft/wire/membership_message.h"

namespace weft {

// A block is small because frames of a round may have to wait behind one.
inline constexpr std::size_t kStateBlockBytes = std::size_t{64} << 10;
// A piece of a result has this many floats; it is as large as a block.
inline constexpr std::size_t kPieceElements = kStateBlockBytes / sizeof(float);
inline constexpr std::uint32_t kStateBlocksMax = 1U << 20U;
// The number of hashes in a path: the levels of a tree of kStateBlocksMax leaves.
inline constexpr std::uint32_t kBlockPathMax = 20;

// A snapshot of the state after `round`.
struct SnapshotName {
  Round round;
  std::uint64_t bytes = 0;
  // SHA-256 over the two fields above and the root of the hash tree of its blocks.
  Hash256 root{};

  std::uint32_t blocks() const;
  // REQUIRES: index < blocks().
  std::size_t block_bytes(std::uint32_t index) const;
  friend bool operator==(const SnapshotName&, const SnapshotName&) = default;
};

// The name of a snapshot with this round, this many bytes and this tree.
SnapshotName name_snapshot(Round round, std::uint64_t bytes, const Hash256& tree_root);

struct StateQueryMessage {
  // The snapshot of which the asker already has blocks.
  std::optional<Hash256> wanted;
  Bytes encode() const;
  static Result<StateQueryMessage> decode(ByteSpan bytes);
};

struct StateOfferMessage {
  // Empty if no snapshot exists yet: one will be made, and the asker asks again.
  std::optional<SnapshotName> snapshot;
  Bytes encode() const;
  static Result<StateOfferMessage> decode(ByteSpan bytes);
};

struct BlockRequestMessage {
  Hash256 root{};
  std::uint32_t index = 0;
  Bytes encode() const;
  static Result<BlockRequestMessage> decode(ByteSpan bytes);
};

struct BlockHead {
  Hash256 root{};
  std::uint32_t index = 0;
  std::vector<Hash256> path;

  // True if `body` is the block of this name in `snapshot`.
  bool proves(const SnapshotName& snapshot, ByteSpan body) const;
  Bytes encode() const;
  static Result<BlockHead> decode(ByteSpan bytes);
};

struct BlockMissingMessage {
  Hash256 root{};
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
  // The size of the whole result: its sums, then its members' reports as RoundReports encodes them,
  // 0 bytes if there are none. Each of the two is cut into pieces separately.
  std::uint64_t elements = 0;
  std::uint32_t report_bytes = 0;
  std::uint32_t piece = 0;
  // result_hash() of both.
  Hash128 hash{};

  std::uint64_t sum_pieces() const;
  std::uint64_t pieces() const;
  // The size of this piece; 0 for one that the result does not have.
  std::size_t piece_bytes() const;
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

// What a state has learned from beside the rounds of its own branch. Where branches of a run may
// merge, each state that is sent begins with its history, and its hash covers it: a round's number
// alone does not distinguish the states of two branches, nor those before and after a merge.
struct StateHistory {
  // The branch; zeros stand for the run itself.
  Hash256 branch{};
  // Samples beyond those of the branch's own rounds.
  std::uint64_t samples = 0;
  // At most kAbsorbedMax entries.
  std::vector<AbsorbedBranch> absorbed;

  // The length is a multiple of 64 bytes, so that what follows keeps its alignment.
  Bytes encode() const;
  static Result<StateHistory> decode(ByteSpan bytes);
  // The number of bytes at the front of a state that are its history. Fails: kCorrupt.
  static Result<std::size_t> bytes_in(ByteSpan state);
  friend bool operator==(const StateHistory&, const StateHistory&) = default;
};

// How many successive runs a peer remembers.
inline constexpr std::uint32_t kPastRunsMax = 8;

// A run that a peer was a member of.
struct PastRun {
  RunId run{};
  // How often the run was resumed after all members had died, up to and including this run.
  std::uint32_t generation = 0;
  // The next run continued from the state after this round; all ones: unknown, or there is none.
  Round until;
  // An HMAC under the run's key over the message with zeros in this field, its sender and the run
  // in which it is sent (peer/voter_record.h); a founder sends zeros.
  Hash256 proof{};
  friend bool operator==(const PastRun&, const PastRun&) = default;
};

struct HeldStateMessage {
  // The round of the state that is held; 0: none.
  Round round;
  // The root of its snapshot; zeros if none was made yet.
  Hash256 root{};
  // The run of the state; zeros: none.
  RunId run{};
  // The last view that the sender was in, and its run: these peers may hold a state.
  RunId view_run{};
  std::uint64_t view = 0;
  std::vector<PeerId> members{};
  // Past runs, newest first.
  std::vector<PastRun> history{};
  Bytes encode() const;
  static Result<HeldStateMessage> decode(ByteSpan bytes);
};

// The total since the link came up, whether the bytes were of use or not.
struct StateReceivedMessage {
  std::uint64_t bytes = 0;
  Bytes encode() const;
  static Result<StateReceivedMessage> decode(ByteSpan bytes);
};

}  // namespace weft
