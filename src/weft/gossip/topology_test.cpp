#include "weft/gossip/topology.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "weft/gossip/test_mixing_matrix.h"

namespace weft::topology_test {
namespace {

using testing_gossip::MixingMatrix;
using testing_gossip::test_ids;

TopologyOptions random_regular(int degree, std::uint64_t seed) {
  return {TopologyKind::kRandomRegular, degree, seed};
}

std::map<PeerId, std::set<PeerId>> graph_of(const std::vector<PeerId>& members,
                                            const TopologyOptions& options) {
  std::map<PeerId, std::set<PeerId>> graph;
  for (const PeerId& member : members) {
    const std::vector<PeerId> found = neighbours_of(member, members, options);
    graph[member] = {found.begin(), found.end()};
  }
  return graph;
}

std::size_t reached_from(const std::map<PeerId, std::set<PeerId>>& graph, const PeerId& start) {
  std::set<PeerId> reached = {start};
  std::vector<PeerId> open = {start};
  while (!open.empty()) {
    const PeerId at = open.back();
    open.pop_back();
    for (const PeerId& next : graph.at(at)) {
      if (reached.insert(next).second) open.push_back(next);
    }
  }
  return reached.size();
}

TEST(Topology, EdgesHaveTwoEndsAndConnectAllWhateverTheSeed) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::size_t members : {1U, 2U, 3U, 4U, 5U, 17U, 64U}) {
      const std::vector<PeerId> ids = test_ids(members, seed);
      for (const TopologyOptions& options : {TopologyOptions{TopologyKind::kRing, 0, seed},
                                             random_regular(4, seed), random_regular(6, seed)}) {
        const auto graph = graph_of(ids, options);
        EXPECT_EQ(reached_from(graph, ids[0]), members);
        for (const auto& [member, neighbours] : graph) {
          EXPECT_FALSE(neighbours.contains(member));
          for (const PeerId& other : neighbours) EXPECT_TRUE(graph.at(other).contains(member));
          const std::size_t most =
              options.kind == TopologyKind::kRing ? 2 : static_cast<std::size_t>(options.degree);
          EXPECT_LE(neighbours.size(), most);
        }
      }
    }
  }
}

TEST(Topology, MostMembersHaveTheFullDegree) {
  const std::vector<PeerId> ids = test_ids(200, 3);
  std::size_t full = 0;
  for (const auto& [member, neighbours] : graph_of(ids, random_regular(6, 3))) {
    full += neighbours.size() == 6 ? 1 : 0;
  }
  EXPECT_GT(full, 180U);
  for (const auto& [member, neighbours] : graph_of(ids, {TopologyKind::kRing, 4, 3})) {
    EXPECT_EQ(neighbours.size(), 2U);
  }
}

TEST(Topology, TheOrderOfTheMembersDoesNotMatterAndTheSeedDoes) {
  std::vector<PeerId> ids = test_ids(50, 1);
  const auto graph = graph_of(ids, random_regular(4, 1));
  std::reverse(ids.begin(), ids.end());
  EXPECT_EQ(graph_of(ids, random_regular(4, 1)), graph);
  EXPECT_NE(graph_of(ids, random_regular(4, 2)), graph);
  // Whoever is not in its own book yet finds the same neighbours.
  const PeerId self = ids.back();
  ids.pop_back();
  const std::vector<PeerId> found = neighbours_of(self, ids, random_regular(4, 1));
  EXPECT_EQ(std::set<PeerId>(found.begin(), found.end()), graph.at(self));
}

TEST(Topology, ANewcomerChangesFewEdges) {
  std::vector<PeerId> ids = test_ids(201, 8);
  const PeerId newcomer = ids.back();
  const auto after = graph_of(ids, random_regular(6, 8));
  ids.pop_back();
  const auto before = graph_of(ids, random_regular(6, 8));
  std::size_t changed = 0;
  for (const auto& [member, neighbours] : before) {
    for (const PeerId& other : neighbours) changed += after.at(member).contains(other) ? 0 : 1;
  }
  // Each of the three rings opens between two members: one edge, seen from both ends.
  EXPECT_LE(changed, 6U);
  EXPECT_EQ(after.at(newcomer).size(), 6U);
}

TEST(Topology, AWrongDegreeOrWordIsRefusedWithTheRemedy) {
  EXPECT_TRUE(check_topology(random_regular(4, 0)).ok());
  for (const int degree : {0, 1, 3, 65, 66}) {
    const Status status = check_topology(random_regular(degree, 0));
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(degree)), std::string::npos);
  }
  EXPECT_EQ(*parse_topology("ring"), TopologyKind::kRing);
  EXPECT_EQ(*parse_topology("random_regular"), TopologyKind::kRandomRegular);
  EXPECT_EQ(parse_topology("star").status().code(), Code::kInvalidArgument);
}

TEST(MetropolisWeights, AreSymmetricAndDoublyStochasticForAnyDegrees) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    // An irregular graph: two rings of which many edges coincide, and a few members.
    const MixingMatrix weights(test_ids(9 + seed, seed), random_regular(6, seed));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double row = 0;
      double column = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        EXPECT_DOUBLE_EQ(weights.at(i, j), weights.at(j, i));
        EXPECT_GE(weights.at(i, j), 0);
        row += weights.at(i, j);
        column += weights.at(j, i);
      }
      EXPECT_NEAR(row, 1, 1e-12);
      EXPECT_NEAR(column, 1, 1e-12);
      EXPECT_GT(weights.at(i, i), 0);
    }
  }
}

// The eigenvalues of a ring are known: 1/3 + 2/3 cos(2 pi k / n).
TEST(MetropolisWeights, ARingHasTheSpectralGapOfTheBooks) {
  for (const std::size_t members : {8U, 16U, 40U}) {
    const MixingMatrix weights(test_ids(members, 2), {TopologyKind::kRing, 2, 2});
    const double expected =
        1.0 / 3.0 + 2.0 / 3.0 * std::cos(2 * std::acos(-1.0) / static_cast<double>(members));
    EXPECT_NEAR(weights.second_eigenvalue(), expected, 1e-9);
  }
}

// Friedman's bound for random regular graphs, with room for unions of rings of this size.
TEST(Topology, RandomRegularGraphsHaveALargeSpectralGap) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const MixingMatrix weights(test_ids(200, seed), random_regular(6, seed));
    const double friedman = (1 + 2 * std::sqrt(5.0)) / 7;
    const double lambda = weights.second_eigenvalue();
    EXPECT_LT(lambda, friedman + 0.05);
    EXPECT_GT(lambda, friedman - 0.15);
  }
}

}  // namespace
}  // namespace weft::topology_test
