#include "weft/gossip/topology/member_order.h"

#include <algorithm>

namespace weft {

MemberOrder::MemberOrder(const TopologyInput& input) {
  places_.reserve(input.members.size() + 1);
  const RingPlace own = ring_place(input.self, input.seed, 0);
  places_.push_back(own);
  for (const PeerId& member : input.members) {
    if (member != input.self) places_.push_back(ring_place(member, input.seed, 0));
  }
  std::sort(places_.begin(), places_.end());
  places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  self_ = static_cast<std::size_t>(std::lower_bound(places_.begin(), places_.end(), own) -
                                   places_.begin());
}

std::vector<TopologyEdge> MemberOrder::edges_to(std::span<const std::size_t> positions) const {
  std::vector<TopologyEdge> edges;
  edges.reserve(positions.size());
  for (const std::size_t position : positions) edges.push_back({places_[position].peer});
  return edges;
}

}  // namespace weft
