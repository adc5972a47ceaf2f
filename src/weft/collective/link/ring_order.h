// ring_order(): in which order members of unequal links should form their ring.
//
// A pure function: equal matrices give equal orders everywhere. A ring sends the same bytes over
// each of its links, so the slowest one decides; delays and the filling of the pipeline add up.
//
// IMPLEMENTATION: nearest neighbour, then 2-opt (Croes, "A method for solving traveling-salesman
// problems", Operations Research 6, 1958) and moves of up to three members (Or, 1976), judged by
// ring_seconds(), which is no plain sum of lengths; up to 16 members also from orders in which two
// parts have traded places (Martin, Otto, Felten, 1991). Beyond 64 members they are first put into
// clusters round far-apart seeds (Gonzalez, 1985), each cluster is ordered, then the clusters.
// Cost: O(n^3) for each sweep over a ring or cluster of n <= 64.
//
// Threads: pure. Fails: never.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// One direction of the link between two members; 0: not known.
struct LinkFacts {
  double bytes_per_s = 0;
  double delay_s = 0;
  friend bool operator==(const LinkFacts&, const LinkFacts&) = default;
};

class LinkMatrix {
 public:
  explicit LinkMatrix(int size)
      : size_(size), lines_(static_cast<std::size_t>(size) * static_cast<std::size_t>(size)) {}
  int size() const { return size_; }
  LinkFacts& at(int from, int to) { return lines_[place(from, to)]; }
  const LinkFacts& at(int from, int to) const { return lines_[place(from, to)]; }
  // The share of links whose rate is known; 1 for a single member.
  double known_share() const;
  // Unknown entries are taken from the other direction, or else from the median of the known ones.
  LinkMatrix filled() const;
  // The total rate that every member reaches at least while each sends to all others alike; uplink
  // and downlink are assumed to be as fast as the member's best link. 0 if no rate is known, or for
  // one member.
  double all_to_all_rate() const;
  // The entries of `members` only, in their order.
  LinkMatrix part(std::span<const int> members) const;

 private:
  std::size_t place(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(size_) +
           static_cast<std::size_t>(to);
  }

  int size_;
  std::vector<LinkFacts> lines_;
};

// The traffic of one round.
struct RingLoad {
  double bytes = 1 << 20;
  double segment_bytes = 256 * 1024;
};

// How long an all-reduce takes round the ring order[0] -> order[1] -> ... -> order[0].
// REQUIRES: all rates are known.
double ring_seconds(const LinkMatrix& links, std::span<const int> order, const RingLoad& load);

// A permutation of 0 .. size - 1 that begins with 0. REQUIRES: all rates are known, size >= 1.
std::vector<int> ring_order(const LinkMatrix& links, const RingLoad& load);

}  // namespace weft
