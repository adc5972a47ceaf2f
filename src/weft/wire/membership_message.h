// The messages by which members watch each other and agree on the next view.
//
//   value      = as in view_value.h
//   carried    = whole u8: 1, value; or 0, difference (value_difference.h)
//   ballot     = counter u64, proposer 32
//   heartbeat  = view, incarnation u64, sequence u64, done round u64
//   suspicion  = view, who 32, withdrawn u8, reason text
//   prepare    = view, ballot, bans 16
//   promise    = view, ballot, done round u64, result hash 16, has accepted u8 [, ballot, carried]
//   accept     = view, ballot, carried
//   accepted   = view, ballot
//   rejected   = view, asked ballot, promised ballot
//   notice     = previous view, view, carried, keyed u8 [, renewals u64, invitation key 32]
//   removed    = view, incarnation u64, reason text
//   outside    = incarnation u64, votes u8 [, view]
//   leaving    = view
//   joiner     = member, present u8
//
// `view` in every message of the agreement is the view it would replace: a message about an older
// view is answered with a notice of the current one. A difference is one from that view, or from
// the previous one of a notice. Who does not hold that view has nothing to say to a promise or an
// accept message, and answers a notice with a heartbeat or an `outside`, which name the view that
// it holds; the notice that it gets then is whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/value_difference.h"
#include "weft/wire/view_value.h"

namespace weft {

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
  // A digest of who is out of the run, as far as the proposer knows; zeros: nobody. Who knows
  // others informs it, so that what all know is not sent by all.
  Hash128 bans{};
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
  // The accepted value, as in AcceptMessage.
  std::optional<ValueDifference> difference{};
  Bytes encode() const;
  static Result<PromiseMessage> decode(ByteSpan bytes);
};

struct AcceptMessage {
  ViewId view;
  Ballot ballot;
  ViewValue value;
  // Sent in place of the value where it is set; where one was received, `value` is to be made of
  // it.
  std::optional<ValueDifference> difference{};
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
  // See AcceptMessage.
  std::optional<ValueDifference> difference{};
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

}  // namespace weft
