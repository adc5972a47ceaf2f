// exponential: the members on a ring; each has those at the distances 1, 2, 4 and so on below n, in
// both directions.
//
// IMPLEMENTATION: Ying, Yuan, Chen, Hu, Pan and Yin, "Exponential graph is provably efficient for
// decentralized deep training", NeurIPS 2021. Their graph is directed; here both directions are
// edges, since members exchange and W is to be symmetric.
#include <algorithm>

#include "weft/gossip/topology/member_order.h"

namespace weft {
namespace {

std::size_t exponential_degree_max(std::size_t members, std::span<const double> /*options*/) {
  std::size_t degree = 0;
  for (std::size_t distance = 1; distance < members; distance *= 2) degree += 2;
  return std::min(degree, members - 1);
}

std::vector<TopologyEdge> exponential_edges(const TopologyInput& input) {
  const MemberOrder order(input);
  const std::size_t size = order.size();
  std::vector<std::size_t> found;
  for (std::size_t distance = 1; distance < size; distance *= 2) {
    found.push_back((order.self() + distance) % size);
    found.push_back((order.self() + size - distance) % size);
  }
  return order.edges_to(found);
}

}  // namespace

extern const TopologyDef exponential_topology = {
    .name = "exponential",
    .summary = "The members at distances 1, 2, 4, ... on a ring, both ways (Ying et al. 2021).",
    .degree_text = "at most 2 ceil(log2 n)",
    .degree_max = exponential_degree_max,
    .edges = exponential_edges,
};

}  // namespace weft
