// Rings of members: each ring has all of them in the order of a hash of their ids.
//
// A member that comes or goes changes nothing for the others but who is beside it.
//
// IMPLEMENTATION: Law and Siu, "Distributed construction of random expander networks", INFOCOM
// 2003 (Hamiltonian cycles as parts of a graph). O(members) for the places beside one.
// Threads: pure.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "weft/gossip/topology/topology_def.h"

namespace weft {

// Where a member stands on one ring; the id makes places different for certain. The hash is in two
// numbers, since places are compared far more often than they are made.
struct RingPlace {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  PeerId peer{};

  friend auto operator<=>(const RingPlace&, const RingPlace&) = default;
};

RingPlace ring_place(const PeerId& peer, std::uint64_t seed, int ring);

// Appends the members before and after `input.self` on the ring, twice the same if there is only
// one other.
void add_beside(const TopologyInput& input, int ring, std::vector<TopologyEdge>& edges);

}  // namespace weft
