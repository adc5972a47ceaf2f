#include "weft/gossip/topology.h"

#include <algorithm>
#include <array>
#include <compare>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "weft/base/hash.h"

namespace weft {
namespace {

constexpr int kDegreeMax = 64;

// Where a member stands on one ring; the id makes places different for certain. The hash is in two
// numbers, since places are compared far more often than they are made.
struct RingPlace {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  PeerId peer{};

  friend auto operator<=>(const RingPlace&, const RingPlace&) = default;
};

std::uint64_t big_endian(std::span<const std::uint8_t, 8> bytes) {
  std::uint64_t number = 0;
  for (const std::uint8_t byte : bytes) number = number << 8U | byte;
  return number;
}

RingPlace ring_place(const PeerId& peer, std::uint64_t seed, int ring) {
  // By hand, for it is computed for each member and ring: seed u64, ring u32, id.
  std::array<std::uint8_t, 12 + sizeof peer.bytes> bytes{};
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::uint8_t>(seed >> (8 * i));
  bytes[8] = static_cast<std::uint8_t>(ring);
  std::copy(peer.bytes.begin(), peer.bytes.end(), bytes.begin() + 12);
  const Hash128 hash = xxh3_128(bytes);
  const std::span<const std::uint8_t, 16> both(hash);
  return {big_endian(both.first<8>()), big_endian(both.last<8>()), peer};
}

int rings_of(const TopologyOptions& options) {
  return options.kind == TopologyKind::kRing ? 1 : options.degree / 2;
}

}  // namespace

Result<TopologyKind> parse_topology(std::string_view text) {
  if (text == "ring") return TopologyKind::kRing;
  if (text == "random_regular") return TopologyKind::kRandomRegular;
  return invalid_argument(fmt::format("topology: expected ring or random_regular, got {}", text));
}

Status check_topology(const TopologyOptions& options) {
  if (options.kind == TopologyKind::kRing) return {};
  if (options.degree >= 2 && options.degree <= kDegreeMax && options.degree % 2 == 0) return {};
  return invalid_argument(fmt::format(
      "topology: expected an even degree from 2 to {}, since each ring of a random_regular graph "
      "gives two neighbours, got {}",
      kDegreeMax, options.degree));
}

std::vector<PeerId> neighbours_of(const PeerId& self, std::span<const PeerId> members,
                                  const TopologyOptions& options) {
  std::vector<PeerId> found;
  for (int ring = 0; ring < rings_of(options); ++ring) {
    const RingPlace own = ring_place(self, options.seed, ring);
    // Round the ring: the next above the own place, or else the lowest; and likewise downwards.
    std::optional<RingPlace> next;
    std::optional<RingPlace> lowest;
    std::optional<RingPlace> before;
    std::optional<RingPlace> highest;
    for (const PeerId& member : members) {
      if (member == self) continue;
      const RingPlace place = ring_place(member, options.seed, ring);
      if (place > own && (!next || place < *next)) next = place;
      if (place < own && (!before || place > *before)) before = place;
      if (!lowest || place < *lowest) lowest = place;
      if (!highest || place > *highest) highest = place;
    }
    if (!lowest) return {};
    found.push_back(next.value_or(*lowest).peer);
    found.push_back(before.value_or(*highest).peer);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

double metropolis_weight(std::size_t degree, std::size_t other_degree) {
  return 1.0 / (1.0 + static_cast<double>(std::max(degree, other_degree)));
}

}  // namespace weft
