// Group messages: what members send about collectives that are not rounds; many run at once.
//
//   call          := view:ViewId scope:u8 channel:u16 sequence:u64
//   group_segment := scope:u8 channel:u16 segment_head  (kGroupSegment, bulk; body = the values;
//                    segment_head.id = view and, as its round, the sequence)
//   group_ready   := call form:u8 elements:u64 received:bytes    (kGroupReady, control)
//   group_done    := call                                        (kGroupDone, control)
#pragma once

#include <cstdint>

#include "weft/base/status.h"
#include "weft/wire/codec.h"
#include "weft/wire/collective_message.h"
#include "weft/wire/frame_type.h"

namespace weft {

// Who takes part in a call: all members, or two, one of whom gives data to the other.
enum class GroupScope : std::uint8_t {
  kAll = 0,
  kGives = 1,  // the sender of this frame gives the data
  kTakes = 2,  // the sender of this frame takes it
};

// Names one call as the sender of the frame sees it. Every scope and channel counts its own calls,
// from 0 in each view; members make them in the same order.
struct GroupCallId {
  ViewId view;
  GroupScope scope{};
  std::uint16_t channel = 0;
  std::uint64_t sequence = 0;
  friend bool operator==(const GroupCallId&, const GroupCallId&) = default;
};

struct GroupSegmentHead {
  // The bytes in front of the segment's head.
  static constexpr std::size_t kPrefixBytes = 3;
  GroupScope scope{};
  std::uint16_t channel = 0;
  SegmentHead segment;

  GroupCallId call() const { return {segment.id.view, scope, channel, segment.id.round.value()}; }
  Bytes encode() const;
  static Result<GroupSegmentHead> decode(ByteSpan bytes);
};

// The counterpart of ReadyMessage for one call.
struct GroupReadyMessage {
  GroupCallId call;
  std::uint8_t form = 0;
  std::uint64_t elements = 0;
  Bytes received;

  Bytes encode() const;
  static Result<GroupReadyMessage> decode(ByteSpan bytes);
};

// "I hold my result": the receiver may drop what it kept for the sender.
struct GroupDoneMessage {
  GroupCallId call;

  Bytes encode() const;
  static Result<GroupDoneMessage> decode(ByteSpan bytes);
};

}  // namespace weft
