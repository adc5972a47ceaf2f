// ring: the members in the order of a hash of their ids; each has the one before and after.
//
// A member that comes or goes changes one edge between others.
#include "weft/gossip/topology/ring_place.h"

namespace weft {
namespace {

std::size_t ring_degree_max(std::size_t /*members*/, std::span<const double> /*options*/) {
  return 2;
}

std::vector<TopologyEdge> ring_edges(const TopologyInput& input) {
  std::vector<TopologyEdge> edges;
  add_beside(input, 0, edges);
  return edges;
}

}  // namespace

extern const TopologyDef ring_topology = {
    .name = "ring",
    .summary = "The two members beside it, in the order of a hash of the ids.",
    .degree_text = "2",
    .degree_max = ring_degree_max,
    .has_fixed_degree = true,
    .edges = ring_edges,
};

}  // namespace weft
