// Messages about the links between members: the measured rates and delays, and probes that measure
// one.
//
//   link   := from:u16 rate:u16 delay:u16       (ranks; LinkCode each)
//   row    := reporter:u16 sequence:u64 age:u16 links:several link      (age in seconds)
//   report := view:ViewId rows:several row      (kLinkReport, control)
//   probe  := view:ViewId sequence:u32 index:u8 count:u8
//             (kProbe, bulk; body = bytes of no meaning, at most kProbeBodyBytesMax)
//
// A row is what its reporter receives: rate and delay of the links from others to it. Members pass
// on the rows of others; ranks are those of the view that the message names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"
#include "weft/wire/link_code.h"
#include "weft/wire/membership_message.h"

namespace weft {

// With these bounds a report stays below 256 KiB.
inline constexpr std::uint32_t kLinkRowsMax = 64;
inline constexpr std::uint32_t kProbeFramesMax = 32;
inline constexpr std::size_t kProbeBodyBytesMax = 64 * 1024;

struct LinkEntry {
  std::uint16_t from = 0;
  // Bytes per second, and microseconds one way.
  LinkCode rate;
  LinkCode delay;
  friend bool operator==(const LinkEntry&, const LinkEntry&) = default;
};

struct LinkRow {
  std::uint16_t reporter = 0;
  // The newer of two rows from one reporter counts.
  std::uint64_t sequence = 0;
  std::uint16_t age_s = 0;
  // Sorted by rank; the reporter itself is not among them.
  std::vector<LinkEntry> links;
  friend bool operator==(const LinkRow&, const LinkRow&) = default;
};

struct LinkReportMessage {
  ViewId view;
  std::vector<LinkRow> rows;
  Bytes encode() const;
  static Result<LinkReportMessage> decode(ByteSpan bytes);
};

// One frame of a burst; the receiver measures the rate at which its second half arrives.
struct ProbeHead {
  ViewId view;
  std::uint32_t sequence = 0;
  std::uint8_t index = 0;
  std::uint8_t count = 0;
  Bytes encode() const;
  static Result<ProbeHead> decode(ByteSpan bytes);
};

}  // namespace weft
