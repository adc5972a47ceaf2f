// SwarmCorePart: what the parts of a SwarmCore have in common.
//
// Each part owns its state, which no other part reaches but by the methods of its class, and knows
// the swarm that it belongs to, so that it can call the others (swarm_parts.h).
//
// Threads: as SwarmCore. Fails: never.
#pragma once

namespace weft {

class Fingerprint;
struct SwarmParts;

class SwarmCorePart {
 public:
  explicit SwarmCorePart(SwarmParts& core) : core_(core) {}
  SwarmCorePart(const SwarmCorePart&) = delete;
  SwarmCorePart& operator=(const SwarmCorePart&) = delete;

 protected:
  ~SwarmCorePart() = default;

  SwarmParts& core_;
};

}  // namespace weft
