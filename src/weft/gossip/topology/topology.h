// Topology: the neighbours with which each of a set of members exchanges, computed by each for
// itself.
//
// A text names one of a family, with options: "ring", "random_regular:degree=6",
// "erdos_renyi:p=0.05". Each file NAME_topology.cpp is one; see docs/HACKING.md to add one.
//
// A topology is a pure function of the members' ids and a seed, so members with equal books agree
// without any message. For any ids the graph is symmetric, connected, and has no edge from a member
// to itself. In a time-varying topology each edge has its slot in every `period` rounds; then that
// holds for the union of the rounds.
//
// While books differ, two ends may disagree about an edge: then it exists, because the end that has
// it sends, and the other answers from its next slot on (GossipCore).
//
// Metropolis weights: W_ij = 1 / (1 + max(d_i, d_j)), what is missing to 1 for oneself. They are
// symmetric and doubly stochastic for any degrees, and two ends need only each other's.
//
// IMPLEMENTATION: Xiao and Boyd, "Fast linear iterations for distributed averaging", 2004, and
// Xiao, Boyd and Kim, "Distributed average consensus with least-mean-square deviation", 2007 (the
// weights). The sources of the graphs are in their files.
// Where it stands: GossipCore asks for its neighbours when its book has changed. Threads: immutable
// once parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

struct TopologyDef;  // topology_def.h

// The members with which one exchanges.
struct Neighbourhood {
  // By id. Links are kept to all of them.
  std::vector<PeerId> peers;
  // Above 1: peers[i] is exchanged with only in the rounds r with r % period == slots[i].
  std::uint64_t period = 1;
  std::vector<std::uint32_t> slots;

  bool contains(const PeerId& peer) const;
  // Whether `peer` is one of them and has its slot.
  bool exchanges(const PeerId& peer, Round round) const;
};

class Topology {
 public:
  // "random_regular" with the seed 0.
  Topology();
  // kInvalidArgument for an unknown name (with the nearest one), or an option that the topology
  // lacks or that is out of range.
  static Result<Topology> parse(std::string_view text, std::uint64_t seed = 0);

  // As it was parsed, without the options that have their defaults.
  std::string text() const;
  // `self` need not be among `members`; it is counted in. See docs/gossip.md for the cost.
  Neighbourhood neighbours(const PeerId& self, std::span<const PeerId> members) const;
  // The most neighbours that a member has in one round, in a group of `members`.
  std::size_t degree_max(std::size_t members) const;
  // Whether that is the same number for any group that is large enough for it.
  bool has_fixed_degree() const;

 private:
  Topology(const TopologyDef& def, std::vector<double> options, std::uint64_t seed)
      : def_(&def), options_(std::move(options)), seed_(seed) {}

  const TopologyDef* def_;
  // In the order of the topology's options.
  std::vector<double> options_;
  std::uint64_t seed_ = 0;
};

// All topologies, by name.
std::span<const TopologyDef* const> topologies();

// The weight of an edge between members of these degrees, both > 0.
double metropolis_weight(std::size_t degree, std::size_t other_degree);

}  // namespace weft
