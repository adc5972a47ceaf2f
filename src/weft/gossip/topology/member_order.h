// MemberOrder: the members in the order of their places on the first ring, for graphs of positions.
//
// A graph of positions 0 to n-1 becomes one of members. A member that comes or goes moves all that
// stand behind it by one position, so most edges of such a graph change.
//
// IMPLEMENTATION: O(n log n). Threads: immutable.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/gossip/topology/ring_place.h"

namespace weft {

class MemberOrder {
 public:
  // The members of `input`, its `self` included.
  explicit MemberOrder(const TopologyInput& input);

  std::size_t size() const { return places_.size(); }
  // The position of `self`.
  std::size_t self() const { return self_; }
  const RingPlace& at(std::size_t position) const { return places_[position]; }
  std::vector<TopologyEdge> edges_to(std::span<const std::size_t> positions) const;

 private:
  std::vector<RingPlace> places_;
  std::size_t self_ = 0;
};

}  // namespace weft
