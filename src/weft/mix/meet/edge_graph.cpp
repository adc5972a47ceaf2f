#include "weft/mix/meet/edge_graph.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {

EdgeGraph::EdgeGraph(std::uint32_t members, std::uint32_t reach)
    : members_(members), reach_(std::min(reach, members / 2)) {
  if (reach_ == 0) return;
  const auto gap = [members](std::uint32_t k, std::uint32_t distance) {
    return 2 - 2 * std::cos(2 * std::numbers::pi * k * distance / members);
  };
  double smallest = 2.0 * members;
  std::vector<double> resistance(reach_ + 1, 0.0);  // between the ends of an edge, by distance
  for (std::uint32_t k = 1; k < members; ++k) {
    double eigenvalue = 0;
    for (std::uint32_t d = 1; d <= reach_; ++d) eigenvalue += gap(k, d) / (is_half(d) ? 2 : 1);
    smallest = std::min(smallest, eigenvalue);
    for (std::uint32_t d = 1; d <= reach_; ++d) {
      resistance[d] += gap(k, d) / eigenvalue / members;
    }
  }
  const auto count = static_cast<double>(edges());
  chi1_ = count / smallest;
  chi2_ = count * *std::ranges::max_element(resistance) / 2;
}

std::size_t EdgeGraph::edges() const {
  std::size_t count = 0;
  for (std::uint32_t d = 1; d <= reach_; ++d) count += is_half(d) ? members_ / 2 : members_;
  return count;
}

std::vector<std::uint32_t> EdgeGraph::owned(std::uint32_t self) const {
  std::vector<std::uint32_t> ends;
  for (std::uint32_t d = 1; d <= reach_; ++d) {
    if (is_half(d) && self >= d) continue;
    ends.push_back((self + d) % members_);
  }
  return ends;
}

bool EdgeGraph::has(std::uint32_t a, std::uint32_t b) const {
  const std::uint32_t around = a > b ? a - b : b - a;
  const std::uint32_t distance = std::min(around, members_ - around);
  return distance >= 1 && distance <= reach_;
}

}  // namespace weft
