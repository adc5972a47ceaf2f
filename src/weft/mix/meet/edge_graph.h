// EdgeGraph: members in a circle, each with edges to the nearest few on both sides, and the two
// numbers of that graph on which the rate of accelerated gossip depends.
//
// Each edge belongs to one of its two members, who keeps its clock. Edges are used equally often:
// the numbers are those of the Laplacian divided by the number of edges,
//   chi1 = 1 / its second eigenvalue, chi2 = max over edges of 1/2 (e_i - e_j)^T Lap^+ (e_i - e_j),
// in closed form for such a graph: eigenvalue k is the sum over distances d of 2 - 2 cos(2 pi k d /
// n). Where a distance is half the circle, its edges are counted once.
// Threads: immutable. REQUIRES: members >= 1, reach >= 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class EdgeGraph {
 public:
  // `reach`: the nearest so many on each side; from half of the circle on, all with all.
  EdgeGraph(std::uint32_t members, std::uint32_t reach);

  std::size_t edges() const;
  // The other ends of the edges whose clocks `self` keeps.
  std::vector<std::uint32_t> owned(std::uint32_t self) const;
  bool has(std::uint32_t a, std::uint32_t b) const;
  // 0 where there is no edge.
  double chi1() const { return chi1_; }
  double chi2() const { return chi2_; }

 private:
  bool is_half(std::uint32_t distance) const { return 2 * distance == members_; }

  const std::uint32_t members_;
  const std::uint32_t reach_;
  double chi1_ = 0;
  double chi2_ = 0;
};

}  // namespace weft
