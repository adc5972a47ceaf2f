// grid: the members in rows of ceil(sqrt(n)); each has those to its left and right, above and
// below.
//
// Each row is a path, and its first member is below the first of the row before, so the grid is
// connected with a short last row, too.
#include "weft/gossip/topology/lattice.h"
#include "weft/gossip/topology/member_order.h"

namespace weft {
namespace {

std::size_t grid_degree_max(std::size_t /*members*/, std::span<const double> /*options*/) {
  return 4;
}

std::vector<TopologyEdge> grid_edges(const TopologyInput& input) {
  const MemberOrder order(input);
  const Lattice lattice(order.size());
  const std::size_t self = order.self();
  const std::size_t column = self % lattice.columns;
  std::vector<std::size_t> found;
  if (column > 0) found.push_back(self - 1);
  if (column + 1 < lattice.columns && self + 1 < order.size()) found.push_back(self + 1);
  if (self >= lattice.columns) found.push_back(self - lattice.columns);
  if (self + lattice.columns < order.size()) found.push_back(self + lattice.columns);
  return order.edges_to(found);
}

}  // namespace

extern const TopologyDef grid_topology = {
    .name = "grid",
    .summary = "The members beside, above and below it, in rows of ceil(sqrt(n)).",
    .degree_text = "2 to 4",
    .degree_max = grid_degree_max,
    .has_fixed_degree = true,
    .edges = grid_edges,
};

}  // namespace weft
