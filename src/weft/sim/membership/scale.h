// Scale: what one member of a large view sends and receives, measured on the real memberships.
//
// A few of the members are real, the first of the ring among them; the others are played: they beat
// at those that they watch and answer ballots as a member would. So a member of 4,096 can be
// measured without 16 million links. Frames arrive at once; time is virtual.
// Threads: one owner.
#pragma once

#include <cstdint>

namespace weft {

struct Traffic {
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
};

struct ScaleResult {
  // Traffic of one real member that is not the first of the ring, in a minute without events.
  Traffic quiet;
  // One change of the view, because a member was killed: of the member that proposes it, and of the
  // one with the most traffic among the others.
  Traffic proposer;
  Traffic other;
  // Calls into a membership in the quiet minute, and bytes of one notice.
  std::uint64_t calls = 0;
  std::uint64_t notice_bytes = 0;
  bool changed = false;
};

// `members` at least 8, `real` of them real. Bytes are those of the frames' heads and 6 for each
// frame (its length, type and lane), without encryption.
ScaleResult measure_scale(int members, int real);

}  // namespace weft
