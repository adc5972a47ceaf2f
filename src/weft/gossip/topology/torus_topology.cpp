// torus: a grid in rows of ceil(sqrt(n)) in which each row and each column is a ring.
//
// A short last row is a ring of its own, and the columns that it does not reach are shorter by one,
// so the torus is connected for any n.
#include "weft/gossip/topology/lattice.h"
#include "weft/gossip/topology/member_order.h"

namespace weft {
namespace {

std::size_t torus_degree_max(std::size_t /*members*/, std::span<const double> /*options*/) {
  return 4;
}

std::vector<TopologyEdge> torus_edges(const TopologyInput& input) {
  const MemberOrder order(input);
  const Lattice lattice(order.size());
  const std::size_t row = order.self() / lattice.columns;
  const std::size_t column = order.self() % lattice.columns;
  const std::size_t length = lattice.row_length(row);
  const std::size_t height = lattice.column_height(column);
  const std::size_t begin = row * lattice.columns;
  const std::size_t found[] = {begin + (column + 1) % length,
                               begin + (column + length - 1) % length,
                               (row + 1) % height * lattice.columns + column,
                               (row + height - 1) % height * lattice.columns + column};
  return order.edges_to(found);
}

}  // namespace

extern const TopologyDef torus_topology = {
    .name = "torus",
    .summary = "A grid in rows of ceil(sqrt(n)) whose rows and columns are rings.",
    .degree_text = "4",
    .degree_max = torus_degree_max,
    .has_fixed_degree = true,
    .edges = torus_edges,
};

}  // namespace weft
