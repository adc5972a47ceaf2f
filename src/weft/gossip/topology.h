// Topology: the neighbours with which each of a set of members exchanges, computed by each for
// itself.
//
// Pure functions of the members' ids, a seed and the options, so that members with equal books
// agree without any message:
//
//   ring            members in the order of a hash of their id; each has the one before and after
//   random_regular  the union of degree/2 such rings, each with a hash of its own
//
// Each ring alone connects all members, so the graph is connected whatever the hashes are. Its
// degree is `degree`, less where two rings share an edge; a member that comes or goes changes at
// most 3 edges of each ring. Unions of random rings have a large spectral gap with high
// probability (the test computes some).
//
// While books differ, two ends may disagree about an edge: then it exists, because the end that has
// it sends, and the other answers from its next round on (GossipCore).
//
// Metropolis weights: W_ij = 1 / (1 + max(d_i, d_j)), what is missing to 1 for oneself. They are
// symmetric and doubly stochastic for any degrees, and two ends need only each other's.
//
// IMPLEMENTATION: Law and Siu, "Distributed construction of random expander networks", INFOCOM
// 2003 (unions of random Hamiltonian cycles); Xiao and Boyd, "Fast linear iterations for
// distributed averaging", 2004, and Xiao, Boyd and Kim, "Distributed average consensus with
// least-mean-square deviation", 2007 (the weights).
// Where it stands: GossipCore asks for its neighbours when its book has changed. Threads: pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

enum class TopologyKind : std::uint8_t { kRing, kRandomRegular };

// "ring" or "random_regular"; kInvalidArgument for another word.
Result<TopologyKind> parse_topology(std::string_view text);

struct TopologyOptions {
  TopologyKind kind = TopologyKind::kRandomRegular;
  // Neighbours of a member in a random_regular graph: even, since each ring gives two.
  int degree = 4;
  std::uint64_t seed = 0;
};

// kInvalidArgument for a degree that is odd or out of [2, 64].
Status check_topology(const TopologyOptions& options);

// The neighbours of `self`, by id. `self` need not be among `members`; it is counted in.
// O(members * degree).
std::vector<PeerId> neighbours_of(const PeerId& self, std::span<const PeerId> members,
                                  const TopologyOptions& options);

// The weight of an edge between members of these degrees, both > 0.
double metropolis_weight(std::size_t degree, std::size_t other_degree);

}  // namespace weft
