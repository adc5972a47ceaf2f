// barabasi_albert: the members come one after another in the order of a hash; each chooses `edges`
// earlier ones, those of a higher degree more often, so that a few become hubs.
//
// The first edges + 1 members are all neighbours. To choose in proportion to the degree, a member
// draws an earlier one and, by a second draw, takes it or one of those that it has itself chosen:
// that is an end of a random edge. The earlier one is drawn as a point between 0 and the own place
// on the ring and is the next member there, so draws depend on nothing else: a member that goes
// changes its own edges and the few draws that fell on it (the test counts them), while numbers of
// positions would change most. It is drawn in proportion to the gap before it, which is the same
// for all only in the mean; the degrees have the tail of the paper's.
//
// IMPLEMENTATION: Barabasi and Albert, "Emergence of scaling in random networks", Science 286,
// 1999. Random edges by recomputed draws: Sanders and Schulz, "Scalable generation of scale-free
// graphs", 2016. Each member computes the graph of all: O(n log n + n edges log n).
#include <algorithm>
#include <array>

#include "weft/base/hash.h"
#include "weft/gossip/topology/member_order.h"

namespace weft {
namespace {

constexpr Option kBarabasiAlbertOptions[] = {
    {.name = "edges",
     .fallback = 2,
     .min = 1,
     .max = 32,
     .whole = true,
     .help = "How many earlier members each chooses."},
};
// After so many draws of one that is chosen already, the nearest earlier one that is not is taken.
constexpr std::uint32_t kDrawsMax = 64;

struct Draw {
  std::uint64_t point = 0;
  std::uint64_t word = 0;
};

Draw draw_of(const PeerId& peer, std::uint64_t seed, std::size_t choice, std::uint32_t attempt) {
  // Seed u64, choice u8, attempt u8, id.
  std::array<std::uint8_t, 10 + sizeof peer.bytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
  bytes[8] = static_cast<std::uint8_t>(choice);
  bytes[9] = static_cast<std::uint8_t>(attempt);
  std::copy(peer.bytes.begin(), peer.bytes.end(), bytes.begin() + 10);
  const Hash128 hash = xxh3_128(bytes);
  Draw draw;
  for (std::size_t i = 0; i < 8; ++i) draw.point = draw.point << 8U | hash[i];
  for (std::size_t i = 8; i < 16; ++i) draw.word = draw.word << 8U | hash[i];
  return draw;
}

class GrownGraph {
 public:
  GrownGraph(const MemberOrder& order, std::uint64_t seed, std::size_t edges)
      : order_(order), seed_(seed), edges_(edges) {
    for (std::size_t i = 0; i < order.size(); ++i) grow(i);
  }

  // Those that `position` has chosen; in the first edges + 1, all the others of them.
  std::span<const std::size_t> chosen(std::size_t position) const {
    return std::span(chosen_).subspan(position * edges_, edges_);
  }

 private:
  void grow(std::size_t position) {
    for (std::size_t choice = 0; choice < edges_; ++choice) {
      const bool is_first = position <= edges_;
      chosen_.push_back(is_first ? choice + (choice >= position ? 1 : 0)
                                 : choose(position, choice));
    }
  }

  bool is_taken(std::size_t position, std::size_t choice, std::size_t other) const {
    const auto begin = chosen_.begin() + static_cast<std::ptrdiff_t>(position * edges_);
    return std::find(begin, begin + static_cast<std::ptrdiff_t>(choice), other) !=
           begin + static_cast<std::ptrdiff_t>(choice);
  }

  std::size_t choose(std::size_t position, std::size_t choice) const {
    for (std::uint32_t attempt = 0; attempt < kDrawsMax; ++attempt) {
      const Draw draw = draw_of(order_.at(position).peer, seed_, choice, attempt);
      const std::size_t drawn = earlier(position, draw.point);
      const bool takes_it = draw.word % 2 == 0;
      const std::size_t other = takes_it ? drawn : chosen(drawn)[draw.word / 2 % edges_];
      if (!is_taken(position, choice, other)) return other;
    }
    std::size_t other = position - 1;
    while (is_taken(position, choice, other)) --other;
    return other;
  }

  // The member at the point that is the fraction `point` / 2^64 of the way to this position.
  std::size_t earlier(std::size_t position, std::uint64_t point) const {
    __extension__ using Wide = unsigned __int128;
    const auto place =
        static_cast<std::uint64_t>(Wide{point} * Wide{order_.at(position).high} >> 64U);
    std::size_t low = 0;
    std::size_t high = position - 1;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (order_.at(middle).high < place) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  const MemberOrder& order_;
  const std::uint64_t seed_;
  const std::size_t edges_;
  std::vector<std::size_t> chosen_;
};

std::size_t barabasi_albert_degree_max(std::size_t members, std::span<const double> /*options*/) {
  return members - 1;
}

std::vector<TopologyEdge> barabasi_albert_edges(const TopologyInput& input) {
  const MemberOrder order(input);
  const auto edges = static_cast<std::size_t>(input.options[0]);
  std::vector<std::size_t> found;
  if (order.size() <= edges + 1) {
    for (std::size_t i = 0; i < order.size(); ++i) found.push_back(i);
    return order.edges_to(found);
  }
  const GrownGraph graph(order, input.seed, edges);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t other : graph.chosen(i)) {
      if (i == order.self()) found.push_back(other);
      if (other == order.self()) found.push_back(i);
    }
  }
  return order.edges_to(found);
}

}  // namespace

extern const TopologyDef barabasi_albert_topology = {
    .name = "barabasi_albert",
    .summary =
        "Each chooses earlier ones by their degree, so that a few are hubs (Barabasi and "
        "Albert 1999).",
    .degree_text = "2 edges in the mean, at least edges",
    .options = kBarabasiAlbertOptions,
    .degree_max = barabasi_albert_degree_max,
    .edges = barabasi_albert_edges,
};

}  // namespace weft
