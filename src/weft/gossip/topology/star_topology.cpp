// star: one member, the hub, is the only neighbour of all others.
//
// The hub is the first on a ring of hashes, so that nobody appoints it. Another member that comes
// or goes changes no edge of the others; where the hub goes, the next on the ring takes its place.
#include <algorithm>

#include "weft/gossip/topology/ring_place.h"

namespace weft {
namespace {

std::size_t star_degree_max(std::size_t members, std::span<const double> /*options*/) {
  return members - 1;
}

std::vector<TopologyEdge> star_edges(const TopologyInput& input) {
  const RingPlace own = ring_place(input.self, input.seed, 0);
  RingPlace hub = own;
  for (const PeerId& member : input.members) {
    hub = std::min(hub, ring_place(member, input.seed, 0));
  }
  if (hub != own) return {{hub.peer}};
  std::vector<TopologyEdge> edges;
  edges.reserve(input.members.size());
  for (const PeerId& member : input.members) edges.push_back({member});
  return edges;
}

}  // namespace

extern const TopologyDef star_topology = {
    .name = "star",
    .summary = "One member is the neighbour of all others, which have no other.",
    .degree_text = "n - 1 at the hub, 1 elsewhere",
    .degree_max = star_degree_max,
    .edges = star_edges,
};

}  // namespace weft
