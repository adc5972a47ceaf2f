// The parts of a swarm of one, on a simulated network, for the tests of this folder.
//
// Threads: one owner.
#pragma once

#include <utility>

#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/collective/parts/swarm_parts.h"
#include "weft/net/sim_network.h"

namespace weft {

struct LoneSwarmParts {
  explicit LoneSwarmParts(SwarmCoreOptions options = {})
      : parts(with_self(std::move(options)), net.start(self()), net.clock(), Rng(7)) {}

  static PeerId self() { return {Hash256{1}}; }
  static PeerId other(std::uint8_t number = 2) { return {Hash256{number}}; }
  static SwarmCoreOptions with_self(SwarmCoreOptions options) {
    options.membership.self = self();
    options.membership.incarnation = 1;
    return options;
  }
  void found() {
    parts.start.found(Round());
    parts.trainer.take_state(Round());
    parts.membership.found(parts.now());
  }

  void wait(Duration duration) { net.run_until(parts.now() + duration); }

  SimNetwork net{SimNetworkOptions{}};
  SwarmParts parts;
};

}  // namespace weft
