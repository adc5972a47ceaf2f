// random_regular: the union of degree/2 rings, each with a hash of its own.
//
// Each ring alone connects all members. A member has `degree` neighbours, less where two rings
// share an edge; one that comes or goes changes one edge between others on each ring. Unions of
// random rings have a large spectral gap with high probability (the test computes some).
//
// IMPLEMENTATION: Law and Siu, "Distributed construction of random expander networks", INFOCOM
// 2003.
#include <fmt/format.h>

#include "weft/gossip/topology/ring_place.h"

namespace weft {
namespace {

constexpr Option kRandomRegularOptions[] = {
    {.name = "degree",
     .fallback = 4,
     .min = 2,
     .max = 64,
     .whole = true,
     .help = "Neighbours of a member, an even number; gossip.degree where the text has none."},
};

int degree_of(std::span<const double> options) { return static_cast<int>(options[0]); }

Status check_random_regular(std::span<const double> options) {
  if (degree_of(options) % 2 == 0) return {};
  return invalid_argument(fmt::format(
      "random_regular: expected an even degree, since each of its rings gives two neighbours, "
      "got {}",
      degree_of(options)));
}

std::size_t random_regular_degree_max(std::size_t /*members*/, std::span<const double> options) {
  return static_cast<std::size_t>(degree_of(options));
}

std::vector<TopologyEdge> random_regular_edges(const TopologyInput& input) {
  std::vector<TopologyEdge> edges;
  for (int ring = 0; ring < degree_of(input.options) / 2; ++ring) add_beside(input, ring, edges);
  return edges;
}

}  // namespace

extern const TopologyDef random_regular_topology = {
    .name = "random_regular",
    .summary = "The members beside it on degree/2 rings in random orders (Law and Siu 2003).",
    .degree_text = "degree",
    .options = kRandomRegularOptions,
    .check = check_random_regular,
    .degree_max = random_regular_degree_max,
    .has_fixed_degree = true,
    .edges = random_regular_edges,
};

}  // namespace weft
