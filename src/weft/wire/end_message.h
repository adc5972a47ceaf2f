// What members tell newcomers at the end of a run.
//
//   run_over = round u64, serves for ms u32
//
// From a member to a peer that has proved a ticket: the last round is committed. For so long the
// sender still gives its final state to newcomers; 0: no more.
#pragma once

#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

// More than any member serves.
inline constexpr std::uint32_t kServesForMsMax = 60'000;

struct RunOverMessage {
  Round round;
  // In [0, kServesForMsMax].
  std::uint32_t serves_for_ms = 0;
  Bytes encode() const;
  static Result<RunOverMessage> decode(ByteSpan bytes);
};

}  // namespace weft
