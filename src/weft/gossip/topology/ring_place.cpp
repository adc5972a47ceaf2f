#include "weft/gossip/topology/ring_place.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "weft/base/hash.h"

namespace weft {

static std::uint64_t big_endian(std::span<const std::uint8_t, 8> bytes) {
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

void add_beside(const TopologyInput& input, int ring, std::vector<TopologyEdge>& edges) {
  const RingPlace own = ring_place(input.self, input.seed, ring);
  // Round the ring: the next above the own place, or else the lowest; and likewise downwards.
  std::optional<RingPlace> next;
  std::optional<RingPlace> lowest;
  std::optional<RingPlace> before;
  std::optional<RingPlace> highest;
  for (const PeerId& member : input.members) {
    if (member == input.self) continue;
    const RingPlace place = ring_place(member, input.seed, ring);
    if (place > own && (!next || place < *next)) next = place;
    if (place < own && (!before || place > *before)) before = place;
    if (!lowest || place < *lowest) lowest = place;
    if (!highest || place > *highest) highest = place;
  }
  if (!lowest) return;
  edges.push_back({next.value_or(*lowest).peer});
  edges.push_back({before.value_or(*highest).peer});
}

}  // namespace weft
