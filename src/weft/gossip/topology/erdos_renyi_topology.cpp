// erdos_renyi: each pair of members is an edge with the probability p, and so is each pair that is
// beside each other on one ring.
//
// The ring makes the graph connected whatever is drawn, and leaves each member's cost at O(n); to
// add edges only where they are missing takes the whole graph, O(n^2) at each member. An edge is
// drawn from a hash of its two ids, so a member that comes or goes changes one edge between others,
// on the ring.
//
// IMPLEMENTATION: Gilbert, "Random graphs", 1959, and Erdos and Renyi, "On random graphs I", 1959,
// for G(n, p). The mean degree is 2 + p (n - 3).
#include <algorithm>
#include <array>

#include "weft/base/hash.h"
#include "weft/gossip/topology/ring_place.h"

namespace weft {
namespace {

constexpr Option kErdosRenyiOptions[] = {
    {.name = "p",
     .fallback = 0.1,
     .min = 0,
     .max = 1,
     .help = "The probability of each edge that is not of the ring."},
};

std::size_t erdos_renyi_degree_max(std::size_t members, std::span<const double> /*options*/) {
  return members - 1;
}

// In [0, 1), the same from both ends.
double pair_number(const PeerId& a, const PeerId& b, std::uint64_t seed) {
  // Seed u64, the smaller id, the greater id.
  std::array<std::uint8_t, 8 + 2 * sizeof a.bytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
  const auto& [smaller, greater] = std::minmax(a, b);
  std::copy(smaller.bytes.begin(), smaller.bytes.end(), bytes.begin() + 8);
  std::copy(greater.bytes.begin(), greater.bytes.end(), bytes.begin() + 8 + sizeof a.bytes);
  const Hash128 hash = xxh3_128(bytes);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8U | hash[i];
  return static_cast<double>(number >> 11U) * 0x1p-53;
}

std::vector<TopologyEdge> erdos_renyi_edges(const TopologyInput& input) {
  std::vector<TopologyEdge> edges;
  add_beside(input, 0, edges);
  for (const PeerId& member : input.members) {
    if (pair_number(input.self, member, input.seed) < input.options[0]) edges.push_back({member});
  }
  return edges;
}

}  // namespace

extern const TopologyDef erdos_renyi_topology = {
    .name = "erdos_renyi",
    .summary =
        "Each other with the probability p, and the two beside it on a ring, which connects "
        "all (Erdos and Renyi 1959).",
    .degree_text = "2 + p (n - 3) in the mean",
    .options = kErdosRenyiOptions,
    .degree_max = erdos_renyi_degree_max,
    .edges = erdos_renyi_edges,
};

}  // namespace weft
