// The message that tells a newcomer that the run has ended.
//
//   run_over = round u64, serves for ms u32
//
// A member sends it to a peer that has proved a ticket, once the last round is committed. The
// sender still serves its final state to newcomers for the time given; 0: no longer.
#pragma once

#include <cstdint>

#include "weft/base/bytes.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

// No member serves for longer.
inline constexpr std::uint32_t kServesForMsMax = 60'000;

struct RunOverMessage {
  Round round;
  // In [0, kServesForMsMax].
  std::uint32_t serves_for_ms = 0;
  Bytes encode() const;
  static Result<RunOverMessage> decode(ByteSpan bytes);
};

}  // namespace weft
