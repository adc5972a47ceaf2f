// What each topology promises beyond the contract: degrees, numbers of edges, and how little a
// member that comes or goes changes.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "weft/gossip/topology/test_mixing_matrix.h"
#include "weft/gossip/topology/test_topology_graph.h"

namespace weft::topology_test {
namespace {

using testing_gossip::edge_count;
using testing_gossip::edges_changed;
using testing_gossip::graph_of;
using testing_gossip::test_ids;
using testing_gossip::topology_of;
using testing_gossip::TopologyGraph;

std::string hex(const Hash128& hash) {
  std::string text;
  for (const std::uint8_t byte : hash) text += fmt::format("{:02x}", byte);
  return text;
}

std::string neighbours_hash(const std::string& text) {
  Writer out;
  for (const std::size_t members : {1U, 2U, 3U, 7U, 64U, 200U}) {
    const std::vector<PeerId> ids = test_ids(members, 4);
    for (const PeerId& id : ids) {
      const std::vector<PeerId> found = topology_of(text, 77).neighbours(id, ids).peers;
      out.u64(found.size());
      for (const PeerId& peer : found) out.peer(peer);
    }
  }
  return hex(xxh3_128(out.written()));
}

// Members of different versions must agree. The hashes are of the first version that had these two
// topologies alone.
TEST(Topology, RingsAndRandomRegularGraphsAreThoseOfTheFirstVersion) {
  EXPECT_EQ(neighbours_hash("ring"), "3e68093736172a7268e42443085f1d8e");
  EXPECT_EQ(neighbours_hash("random_regular:degree=2"), "3e68093736172a7268e42443085f1d8e");
  EXPECT_EQ(neighbours_hash("random_regular"), "a575fb613e56068fe74a76890785a25f");
  EXPECT_EQ(neighbours_hash("random_regular:degree=6"), "03a8249c5b95565daa9b76ac58517143");
  EXPECT_EQ(neighbours_hash("random_regular:degree=64"), "ebdc3d2e54fffd3fb2e6d67f97de721c");
}

TEST(Topology, MostMembersOfARandomRegularGraphHaveTheFullDegree) {
  const std::vector<PeerId> ids = test_ids(200, 3);
  std::size_t full = 0;
  for (const auto& [member, found] : graph_of(ids, topology_of("random_regular:degree=6", 3))) {
    full += found.size() == 6 ? 1 : 0;
  }
  EXPECT_GT(full, 180U);
}

TEST(Topology, GraphsOfFixedShapeHaveTheirNumberOfEdges) {
  const auto edges = [](const std::string& text, std::size_t members) {
    return edge_count(graph_of(test_ids(members, 6), topology_of(text, 6)));
  };
  EXPECT_EQ(edges("ring", 100), 100U);
  EXPECT_EQ(edges("complete", 100), 4950U);
  EXPECT_EQ(edges("star", 100), 99U);
  EXPECT_EQ(edges("grid", 100), 180U);
  EXPECT_EQ(edges("torus", 100), 200U);
  EXPECT_EQ(edges("torus", 30), 60U);
  // Distances 1, 2, 4, 8 and 16 = 32 / 2, which leads to the same member both ways.
  EXPECT_EQ(edges("exponential", 32), 32U * 4 + 16);
  EXPECT_EQ(edges("exponential", 100), 100U * 7);
  EXPECT_EQ(edges("one_peer_exponential", 32), 16U * 5);
}

TEST(Topology, ABarabasiAlbertGraphHasACliqueAndTheChosenNumberOfEdgesFromEachOther) {
  for (const std::size_t edges : {1U, 2U, 3U, 32U}) {
    const Topology topology = topology_of(fmt::format("barabasi_albert:edges={}", edges), 9);
    for (const std::size_t members : {2U, 3U, 4U, 20U, 33U, 34U, 150U}) {
      const TopologyGraph graph = graph_of(test_ids(members, 9), topology);
      const std::size_t first = std::min(members, edges + 1);
      EXPECT_EQ(edge_count(graph), first * (first - 1) / 2 + (members - first) * edges);
      for (const auto& [member, found] : graph) {
        EXPECT_GE(found.size(), std::min<std::size_t>(edges, members - 1));
      }
    }
  }
}

// In the limit of many members a share m (m + 1) / (k (k + 1)) of them has a degree of at least k,
// with m = edges; in a random graph of the same mean it falls faster than any power.
TEST(Topology, ABarabasiAlbertGraphHasTheTailOfDegreesOfThePaper) {
  constexpr std::size_t kMembers = 600;
  constexpr std::uint64_t kGraphs = 5;
  double of_12 = 0;
  double of_24 = 0;
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
    for (const auto& [member, found] :
         graph_of(test_ids(kMembers, seed), topology_of("barabasi_albert", seed))) {
      of_12 += found.size() >= 12 ? 1.0 / (kMembers * kGraphs) : 0;
      of_24 += found.size() >= 24 ? 1.0 / (kMembers * kGraphs) : 0;
    }
  }
  // 0.0385 and 0.01; the standard deviations of counts of 3000 are 0.0035 and 0.0018.
  EXPECT_NEAR(of_12, 6.0 / (12 * 13), 0.014);
  EXPECT_NEAR(of_24, 6.0 / (24 * 25), 0.007);
}

// Pairs that are not of the ring are independent: five standard deviations of their number.
TEST(Topology, AnErdosRenyiGraphHasTheMeanDegreeOfItsProbability) {
  constexpr double kMembers = 300;
  for (const double p : {0.0, 0.01, 0.1, 0.5, 1.0}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const TopologyGraph graph =
          graph_of(test_ids(300, seed), topology_of(fmt::format("erdos_renyi:p={}", p), seed));
      const double pairs = kMembers * (kMembers - 1) / 2 - kMembers;
      const double drawn = static_cast<double>(edge_count(graph)) - kMembers;
      EXPECT_LE(std::abs(drawn - p * pairs), 5 * std::sqrt(pairs * p * (1 - p))) << p;
    }
  }
}

// The edges between others that one member's departure changes, at most and in the mean.
struct Disruption {
  std::size_t most = 0;
  double mean = 0;
};

Disruption disruption_of(const std::string& text, std::size_t members) {
  const Topology topology = topology_of(text, 8);
  const std::vector<PeerId> ids = test_ids(members, 8);
  const TopologyGraph before = graph_of(ids, topology);
  Disruption result;
  for (const PeerId& gone : ids) {
    std::vector<PeerId> rest = ids;
    std::erase(rest, gone);
    const std::size_t changed = edges_changed(before, graph_of(rest, topology));
    result.most = std::max(result.most, changed);
    result.mean += static_cast<double>(changed) / static_cast<double>(members);
  }
  return result;
}

TEST(Topology, AMemberThatGoesChangesAsFewEdgesOfOthersAsItsTopologyPromises) {
  EXPECT_EQ(disruption_of("complete", 60).most, 0U);
  EXPECT_EQ(disruption_of("ring", 60).most, 1U);
  EXPECT_LE(disruption_of("random_regular:degree=6", 60).most, 3U);
  EXPECT_LE(disruption_of("erdos_renyi", 60).most, 1U);
  // A member of a star changes nothing, and the hub all.
  EXPECT_EQ(disruption_of("star", 60).most, 58U);
  EXPECT_NEAR(disruption_of("star", 60).mean, 58.0 / 60, 1e-9);
}

// A member has four edges in the mean. The two that it was chosen for are chosen anew, which is an
// edge more at others, and draws that fell on it without a choice of it are few.
TEST(Topology, AMemberOfABarabasiAlbertGraphThatGoesChangesAFewEdgesOfOthers) {
  const Disruption disruption = disruption_of("barabasi_albert", 120);
  EXPECT_LT(disruption.mean, 6);
  EXPECT_GT(disruption.mean, 1);
}

TEST(Topology, ANewcomerChangesFewEdges) {
  std::vector<PeerId> ids = test_ids(201, 8);
  const PeerId newcomer = ids.back();
  const Topology topology = topology_of("random_regular:degree=6", 8);
  const TopologyGraph after = graph_of(ids, topology);
  ids.pop_back();
  // Each of the three rings opens between two members.
  EXPECT_LE(edges_changed(graph_of(ids, topology), after), 3U);
  EXPECT_EQ(after.at(newcomer).size(), 6U);
}

// Whichever members go, one after another: the next graph is that of the rest.
TEST(Topology, WithoutItsHubsAGraphIsConnectedAgain) {
  for (const char* const text : {"star", "barabasi_albert"}) {
    const Topology topology = topology_of(text, 4);
    std::vector<PeerId> ids = test_ids(40, 4);
    while (ids.size() > 2) {
      const TopologyGraph graph = graph_of(ids, topology);
      ASSERT_EQ(testing_gossip::reached_from(graph, ids[0]), ids.size());
      const auto hub = std::max_element(
          graph.begin(), graph.end(),
          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
      std::erase(ids, hub->first);
    }
  }
}

}  // namespace
}  // namespace weft::topology_test
