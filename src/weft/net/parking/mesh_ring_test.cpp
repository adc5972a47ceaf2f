#include "weft/net/parking/mesh_ring.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::mesh_ring_test {
namespace {

PeerId peer(int number) {
  PeerId id;
  id.bytes[0] = static_cast<std::uint8_t>(number);
  id.bytes[1] = static_cast<std::uint8_t>(number >> 8);
  return id;
}
std::vector<PeerAddress> members(int count) {
  std::vector<PeerAddress> out;
  out.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out.push_back({peer(i), {"host:" + std::to_string(i)}});
  return out;
}

TEST(MeshRing, BothEndsOfALinkAgreeThatTheyAreNeighbours) {
  for (const int count : {1, 2, 3, 5, 33, 64, 100, 257}) {
    std::vector<MeshRing> rings;
    rings.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
      rings.emplace_back(peer(i), members(count), std::vector<int>{3}, 0);
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < count; ++b) {
        EXPECT_EQ(rings[static_cast<std::size_t>(a)].is_neighbour(peer(b)),
                  rings[static_cast<std::size_t>(b)].is_neighbour(peer(a)));
      }
      // Two for each power of two, and two for the distance that was named.
      EXPECT_LE(rings[static_cast<std::size_t>(a)].neighbours(),
                2 * std::ceil(std::log2(count)) + 2);
    }
  }
}

TEST(MeshRing, NeighboursAreAtTheDistancesOfPowersOfTwoAndThoseNamed) {
  const MeshRing ring(peer(10), members(40), {7}, 39);
  for (const int at : {11, 12, 14, 18, 26, 2, 9, 8, 6, 34, 17, 3, 10 + 40 - 32}) {
    EXPECT_TRUE(ring.is_neighbour(peer(at % 40))) << at;
  }
  for (const int at : {10, 13, 15, 16, 20, 30, 1, 7}) EXPECT_FALSE(ring.is_neighbour(peer(at)));
  EXPECT_FALSE(ring.is_neighbour(peer(40)));
  EXPECT_EQ(ring.find(peer(5))->endpoints.front(), "host:5");
  EXPECT_EQ(ring.find(peer(40)), nullptr);
}

// From anybody to anybody by neighbours alone, in at most log2 n hops.
TEST(MeshRing, EachHopIsNearerToTheTarget) {
  constexpr int kCount = 100;
  std::vector<MeshRing> rings;
  std::vector<std::set<PeerId>> linked(kCount);
  for (int i = 0; i < kCount; ++i) {
    rings.emplace_back(peer(i), members(kCount), std::vector<int>{}, 32);
    for (int j = 0; j < kCount; ++j) {
      if (rings.back().is_neighbour(peer(j))) linked[static_cast<std::size_t>(i)].insert(peer(j));
    }
  }
  for (int from = 0; from < kCount; ++from) {
    for (int to = 0; to < kCount; ++to) {
      int at = from;
      int hops = 0;
      while (at != to && hops <= 7) {
        const auto here = static_cast<std::size_t>(at);
        const std::vector<PeerId> next = rings[here].toward(peer(to), linked[here]);
        ASSERT_FALSE(next.empty());
        at = next.front().bytes[0];
        ++hops;
      }
      EXPECT_EQ(at, to);
      EXPECT_LE(hops, 4);
    }
  }
}

TEST(MeshRing, ThereIsNoWayToAStrangerNorThroughOne) {
  const MeshRing ring(peer(0), members(10), {}, 0);
  EXPECT_TRUE(ring.toward(peer(50), {peer(1), peer(2)}).empty());
  EXPECT_EQ(ring.toward(peer(3), {peer(2), peer(50), peer(9)}), std::vector<PeerId>{peer(2)});
  EXPECT_EQ(ring.toward(peer(3), {peer(2), peer(3)}), (std::vector<PeerId>{peer(3), peer(2)}));
  const MeshRing none;
  EXPECT_FALSE(none.sparse());
  const MeshRing mesh(peer(0), members(10), {}, 10);
  EXPECT_FALSE(mesh.sparse());
  EXPECT_EQ(mesh.neighbours(), 9);
  EXPECT_FALSE(none.is_neighbour(peer(1)));
  EXPECT_TRUE(none.toward(peer(1), {peer(1)}).empty());
}

}  // namespace
}  // namespace weft::mesh_ring_test
