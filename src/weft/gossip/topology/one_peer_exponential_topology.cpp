// one_peer_exponential: in round r one member at the distance 2^(r mod ceil(log2 n)).
//
// Position i exchanges with i xor 2^k, which is at that distance: pairs, since an exchange goes
// both ways and W is to be symmetric. In a pair each weight is 1/2. Where n is a power of two, any
// ceil(log2 n) rounds in a row give all members the exact mean; else some positions have no pair in
// some rounds. The union of the rounds is connected: clearing one bit of a position gives a lower
// one, down to 0.
//
// IMPLEMENTATION: Ying et al., "Exponential graph is provably efficient for decentralized deep
// training", NeurIPS 2021. Their one-peer exponential graph is directed; this is the symmetric
// form, which they call the one-peer hypercube, for any n.
#include "weft/gossip/topology/member_order.h"

namespace weft {
namespace {

std::size_t one_peer_degree_max(std::size_t /*members*/, std::span<const double> /*options*/) {
  return 1;
}

std::vector<TopologyEdge> one_peer_edges(const TopologyInput& input) {
  const MemberOrder order(input);
  std::vector<TopologyEdge> edges;
  for (std::uint32_t slot = 0; std::size_t{1} << slot < order.size(); ++slot) {
    const std::size_t other = order.self() ^ std::size_t{1} << slot;
    if (other < order.size()) edges.push_back({order.at(other).peer, slot});
  }
  return edges;
}

std::uint32_t one_peer_period(std::size_t members) {
  std::uint32_t rounds = 0;
  while (std::size_t{1} << rounds < members) ++rounds;
  return rounds == 0 ? 1 : rounds;
}

}  // namespace

extern const TopologyDef one_peer_exponential_topology = {
    .name = "one_peer_exponential",
    .summary = "In round r the member at distance 2^(r mod ceil(log2 n)) (Ying et al. 2021).",
    .degree_text = "1 in each round",
    .degree_max = one_peer_degree_max,
    .has_fixed_degree = true,
    .edges = one_peer_edges,
    .period = one_peer_period,
};

}  // namespace weft
