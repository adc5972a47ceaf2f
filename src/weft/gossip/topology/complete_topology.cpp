// complete: all members are neighbours, so that each round gives all of them the mean.
//
// Each member sends its parameters to all others: for small groups, and to compare with.
#include "weft/gossip/topology/topology_def.h"

namespace weft {
namespace {

std::size_t complete_degree_max(std::size_t members, std::span<const double> /*options*/) {
  return members - 1;
}

std::vector<TopologyEdge> complete_edges(const TopologyInput& input) {
  std::vector<TopologyEdge> edges;
  edges.reserve(input.members.size());
  for (const PeerId& member : input.members) edges.push_back({member});
  return edges;
}

}  // namespace

extern const TopologyDef complete_topology = {
    .name = "complete",
    .summary = "All others.",
    .degree_text = "n - 1",
    .degree_max = complete_degree_max,
    .edges = complete_edges,
};

}  // namespace weft
