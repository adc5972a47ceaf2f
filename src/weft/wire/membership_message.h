// The messages by which members watch each other and agree on the next view.
//
//   member     = peer id 32, incarnation u64, count u32 x endpoint text, halvings u8
//   departure  = peer id 32, incarnation u64, cause u8, reason text
//   point      = branch 32, from view, samples u64
//   absorbed   = branch 32, until u64
//   merge      = branch 32, view, round u64, snapshot 32, samples u64, own samples u64
//   value      = base round u64, count u32 x member, count u32 x departure, count u32 x point,
//                count u32 x absorbed, yields u8 [, branch 32], merges u8 [, merge], links
//   links      = the summary of link_code.h, 6
//   ballot     = counter u64, proposer 32
//   heartbeat  = view, incarnation u64, sequence u64, done round u64
//   suspicion  = view, who 32, withdrawn u8, reason text
//   prepare    = view, ballot
//   promise    = view, ballot, done round u64, result hash 16, has accepted u8 [, ballot, value]
//   accept     = view, ballot, value
//   accepted   = view, ballot
//   rejected   = view, asked ballot, promised ballot
//   notice     = previous view, view, value, keyed u8 [, renewals u64, invitation key 32]
//   removed    = view, incarnation u64, reason text
//   outside    = incarnation u64, votes u8 [, view]
//   leaving    = view
//   joiner     = member, present u8
//
// `view` in every message of the agreement is the view it would replace: a message about an older
// view is answered with a notice of the current one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/link_code.h"

namespace weft {

// Bounds of a decoded message; the largest (promise, accept, notice) stays below 256 KiB.
inline constexpr std::uint32_t kMembersMax = 256;
// The decoder's bound, for larger simulated runs; the frame's own bound applies first.
inline constexpr std::uint32_t kViewMembersMax = 4096;
inline constexpr std::uint32_t kEndpointsMax = 4;
inline constexpr std::size_t kEndpointBytesMax = 96;
inline constexpr std::size_t kReasonBytesMax = 160;
inline constexpr std::uint8_t kShareHalvingsMax = 16;
// How deeply branches of branches may nest, and how many absorbed branches are stored.
inline constexpr std::uint32_t kBranchPointsMax = 16;
inline constexpr std::uint32_t kAbsorbedMax = 64;

struct Member {
  PeerId id;
  // Counts the lives of one identity: a restarted peer has a higher one.
  std::uint64_t incarnation = 0;
  // "host:port" each, tried in order.
  std::vector<std::string> endpoints;
  // How often its share of each batch was halved, because it took too long to compute.
  std::uint8_t halvings = 0;
  friend bool operator==(const Member&, const Member&) = default;
};

enum class DepartureCause : std::uint8_t {
  kFailed = 0,     // no sign of life, or its connections broke
  kLeft = 1,       // it asked to leave
  kRestarted = 2,  // its process came back with a higher incarnation
  kExpelled = 3,   // more than half of the others accused it; it is excluded from the run
};

struct Departure {
  PeerId id;
  std::uint64_t incarnation = 0;
  DepartureCause cause = DepartureCause::kFailed;
  // Text for people: "no heartbeat for 2.0 s".
  std::string reason;
  friend bool operator==(const Departure&, const Departure&) = default;
};

// Where a branch left the run, or another branch: members that were cut off continued by
// themselves.
struct BranchPoint {
  // Names the branch that begins here.
  Hash256 branch{};
  // The last view before it, and the samples that the run's state had learned from by then.
  ViewId from;
  std::uint64_t samples = 0;
  friend bool operator==(const BranchPoint&, const BranchPoint&) = default;
};

// A branch whose state was averaged into this one's.
struct AbsorbedBranch {
  Hash256 branch{};
  // The number of samples that its state had learned from by then.
  std::uint64_t until = 0;
  friend bool operator==(const AbsorbedBranch&, const AbsorbedBranch&) = default;
};

// A branch's history since the beginning of the run; empty for a run that was never split.
struct Lineage {
  std::vector<BranchPoint> points;
  std::vector<AbsorbedBranch> absorbed;
  // Zeros stand for the run itself.
  Hash256 branch() const { return points.empty() ? Hash256{} : points.back().branch; }
  friend bool operator==(const Lineage&, const Lineage&) = default;
};

// What the members of a view do before its first round: they average the state after its base round
// with the state that another branch has yielded, weighted by samples.
struct MergeDirective {
  Hash256 branch{};
  // The yielding branch's last view, its base round, and the manifest of its state after that
  // round.
  ViewId view;
  Round round;
  Hash256 snapshot{};
  // The weights: the samples that only the yielding branch, and only this branch, has learned from.
  std::uint64_t samples = 0;
  std::uint64_t own_samples = 0;
  friend bool operator==(const MergeDirective&, const MergeDirective&) = default;
};

// What the members agree on: the next membership and how far the run's history is committed.
struct ViewValue {
  Round base_round;
  // The members in ring order; at least one, and no peer twice.
  std::vector<Member> members;
  std::vector<Departure> departures;
  Lineage lineage{};
  // The branch that is to absorb this one: this branch's members stop at the base round and offer
  // its state.
  std::optional<Hash256> yields_to{};
  std::optional<MergeDirective> merge{};
  LinkSummary links{};
  friend bool operator==(const ViewValue&, const ViewValue&) = default;
};

struct Ballot {
  std::uint64_t counter = 0;
  PeerId proposer;
  friend auto operator<=>(const Ballot&, const Ballot&) = default;
};

// The round that a restarted member's promise reports as done: it votes as its earlier life, whose
// results it no longer holds, so the promise does not constrain the base round.
inline constexpr std::uint64_t kHoldsNothing = ~std::uint64_t{0};

// The highest round whose complete result a peer holds, and that result's hash.
struct RoundStatus {
  Round done;
  Hash128 result_hash{};
  friend bool operator==(const RoundStatus&, const RoundStatus&) = default;
};

struct HeartbeatMessage {
  ViewId view;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;
  Round done;
  Bytes encode() const;
  static Result<HeartbeatMessage> decode(ByteSpan bytes);
};

struct SuspicionMessage {
  ViewId view;
  PeerId who;
  bool withdrawn = false;
  std::string reason;
  Bytes encode() const;
  static Result<SuspicionMessage> decode(ByteSpan bytes);
};

struct PrepareMessage {
  ViewId view;
  Ballot ballot;
  Bytes encode() const;
  static Result<PrepareMessage> decode(ByteSpan bytes);
};

struct AcceptedValue {
  Ballot ballot;
  ViewValue value;
  friend bool operator==(const AcceptedValue&, const AcceptedValue&) = default;
};

struct PromiseMessage {
  ViewId view;
  Ballot ballot;
  RoundStatus status;
  std::optional<AcceptedValue> accepted;
  Bytes encode() const;
  static Result<PromiseMessage> decode(ByteSpan bytes);
};

struct AcceptMessage {
  ViewId view;
  Ballot ballot;
  ViewValue value;
  Bytes encode() const;
  static Result<AcceptMessage> decode(ByteSpan bytes);
};

struct AcceptedMessage {
  ViewId view;
  Ballot ballot;
  Bytes encode() const;
  static Result<AcceptedMessage> decode(ByteSpan bytes);
};

struct RejectedMessage {
  ViewId view;
  Ballot asked;
  Ballot promised;
  Bytes encode() const;
  static Result<RejectedMessage> decode(ByteSpan bytes);
};

// The key with which any member issues and checks invitations to its run.
struct RunKey {
  // Number of renewals so far.
  std::uint64_t renewals = 0;
  Hash256 key{};
  friend bool operator==(const RunKey&, const RunKey&) = default;
};

// The outcome of an agreement, also sent in answer to messages about an older view.
struct ViewNoticeMessage {
  ViewId previous;
  ViewId view;
  ViewValue value;
  // Sent to members of `view` only, some of which may be new in it.
  std::optional<RunKey> key{};
  Bytes encode() const;
  static Result<ViewNoticeMessage> decode(ByteSpan bytes);
};

// Sent to a peer that is no longer a member: since which view, and why.
struct RemovedMessage {
  ViewId view;
  std::uint64_t incarnation = 0;
  std::string reason;
  Bytes encode() const;
  static Result<RemovedMessage> decode(ByteSpan bytes);
};

// "I belong to no view": tells members that the incarnation they have in their view is gone. If
// that incarnation's promises are on record, `votes_in` is the view in which this peer still votes
// in its place.
struct OutsideMessage {
  std::uint64_t incarnation = 0;
  std::optional<ViewId> votes_in{};
  Bytes encode() const;
  static Result<OutsideMessage> decode(ByteSpan bytes);
};

struct LeavingMessage {
  ViewId view;
  Bytes encode() const;
  static Result<LeavingMessage> decode(ByteSpan bytes);
};

// Sent by a joiner's sponsor to all members: this peer has proved a ticket and may ask for state.
struct JoinerMessage {
  Member joiner;
  bool present = true;
  Bytes encode() const;
  static Result<JoinerMessage> decode(ByteSpan bytes);
};

// Codecs of parts that other messages contain.
void write_member(class Writer& out, const Member& member);
Member read_member(class Reader& in);
void write_view_value(class Writer& out, const ViewValue& value);
ViewValue read_view_value(class Reader& in);

}  // namespace weft
