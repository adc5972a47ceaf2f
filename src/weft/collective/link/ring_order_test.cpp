#include "weft/collective/link/ring_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::ring_order_test {
namespace {

constexpr double kFast = 12.5e6;
constexpr RingLoad kLoad{16 << 20, 256 * 1024};

LinkMatrix equal_links(int size) {
  LinkMatrix links(size);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from != to) links.at(from, to) = {kFast, 1e-3};
    }
  }
  return links;
}

// Rates over three decades, delays over two.
LinkMatrix random_links(int size, bool symmetric, Rng& rng) {
  LinkMatrix links = equal_links(size);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from == to) continue;
      links.at(from, to) = {1e5 * std::pow(1000, rng.uniform()),
                            1e-4 * std::pow(100, rng.uniform())};
      if (symmetric && to < from) links.at(from, to) = links.at(to, from);
    }
  }
  return links;
}

double best_of_all(const LinkMatrix& links) {
  std::vector<int> order(static_cast<std::size_t>(links.size()));
  std::iota(order.begin(), order.end(), 0);
  double best = ring_seconds(links, order, kLoad);
  while (std::next_permutation(order.begin() + 1, order.end())) {
    best = std::min(best, ring_seconds(links, order, kLoad));
  }
  return best;
}

void expect_permutation(std::vector<int> order, int size) {
  ASSERT_EQ(order.size(), static_cast<std::size_t>(size));
  EXPECT_EQ(order.front(), 0);
  std::sort(order.begin(), order.end());
  for (int i = 0; i < size; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(RingOrder, TheSecondsOfARingAreThoseOfItsSlowestLineAndAllItsDelays) {
  LinkMatrix links = equal_links(4);
  links.at(2, 3) = {1e6, 5e-3};
  const RingLoad load{8e6, 1e5};
  const double want = 2.0 * 3 / 4 * (8e6 / 1e6 + 3 * (1e-3 + 1e5 / kFast) + 5e-3 + 1e5 / 1e6);
  EXPECT_NEAR(ring_seconds(links, std::vector{0, 1, 2, 3}, load), want, 1e-9);
  EXPECT_LT(ring_seconds(links, std::vector{0, 1, 3, 2}, load), want);
}

TEST(RingOrder, IsNeverFarFromTheBestOfAllOrders) {
  Rng rng(7);
  int matrices = 0;
  int best = 0;
  for (int size = 3; size <= 8; ++size) {
    for (int i = 0; i < 40; ++i) {
      const LinkMatrix links = random_links(size, i % 2 == 0, rng);
      const std::vector<int> order = ring_order(links, kLoad);
      expect_permutation(order, size);
      const double got = ring_seconds(links, order, kLoad);
      const double least = best_of_all(links);
      EXPECT_LE(got, 1.25 * least) << size << " members, matrix " << i;
      ++matrices;
      if (got <= least * (1 + 1e-9)) ++best;
    }
  }
  EXPECT_GE(best, matrices * 9 / 10);
}

TEST(RingOrder, AvoidsSlowLinesWhereverTheyAre) {
  // Any two of the fifteen pairs of six members.
  for (int first = 0; first < 15; ++first) {
    for (int second = first + 1; second < 15; ++second) {
      LinkMatrix links = equal_links(6);
      int pair = 0;
      for (int a = 0; a < 6; ++a) {
        for (int b = a + 1; b < 6; ++b, ++pair) {
          if (pair != first && pair != second) continue;
          links.at(a, b).bytes_per_s = links.at(b, a).bytes_per_s = kFast / 10;
        }
      }
      const double got = ring_seconds(links, ring_order(links, kLoad), kLoad);
      EXPECT_DOUBLE_EQ(got, ring_seconds(equal_links(6), std::vector{0, 1, 2, 3, 4, 5}, kLoad));
    }
  }
}

TEST(RingOrder, LinesThatAreFastOneWayOnlyAreUsedThatWay) {
  LinkMatrix links = equal_links(5);
  for (int from = 0; from < 5; ++from) {
    for (int to = 0; to < 5; ++to) {
      if (from != to && to != (from + 4) % 5) links.at(from, to).bytes_per_s = kFast / 100;
    }
  }
  EXPECT_EQ(ring_order(links, kLoad), (std::vector{0, 4, 3, 2, 1}));
}

TEST(RingOrder, ManyMembersStayAmongTheirNeighbours) {
  // Four places, members dealt out in turn; between places links are fifty times slower.
  const int size = 200;
  LinkMatrix links = equal_links(size);
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      if (from != to && from % 4 != to % 4) links.at(from, to) = {kFast / 50, 50e-3};
    }
  }
  const std::vector<int> order = ring_order(links, kLoad);
  expect_permutation(order, size);
  int crossings = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] % 4 != order[(i + 1) % order.size()] % 4) ++crossings;
  }
  // As clusters are cut by size, a place may be left and come back to.
  EXPECT_LE(crossings, 8);
}

TEST(RingOrder, EqualMatricesGiveEqualOrders) {
  Rng rng(9);
  const LinkMatrix links = random_links(24, false, rng);
  EXPECT_EQ(ring_order(links, kLoad), ring_order(links, kLoad));
  expect_permutation(ring_order(links, kLoad), 24);
}

TEST(RingOrder, OneOrTwoMembersHaveOneOrder) {
  EXPECT_EQ(ring_order(equal_links(1), kLoad), (std::vector{0}));
  EXPECT_EQ(ring_order(equal_links(2), kLoad), (std::vector{0, 1}));
}

TEST(LinkMatrix, WhatIsNotKnownIsTakenFromTheOtherDirectionOrTheMedian) {
  LinkMatrix links(3);
  EXPECT_EQ(links.known_share(), 0);
  links.at(0, 1) = {4e6, 2e-3};
  links.at(1, 2) = {8e6, 4e-3};
  links.at(2, 0) = {6e6, 0};
  EXPECT_EQ(links.known_share(), 0.5);
  const LinkMatrix full = links.filled();
  EXPECT_EQ(full.known_share(), 1);
  EXPECT_EQ(full.at(1, 0), (LinkFacts{4e6, 2e-3}));
  EXPECT_EQ(full.at(0, 2), (LinkFacts{6e6, 4e-3}));
  EXPECT_EQ(LinkMatrix(2).filled().known_share(), 1);
}

}  // namespace
}  // namespace weft::ring_order_test
