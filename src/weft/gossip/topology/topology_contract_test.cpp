// What holds for every registered topology, with its defaults and at the ends of its options.
#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_plugin_table.h"
#include "weft/gossip/topology/test_mixing_matrix.h"
#include "weft/gossip/topology/test_topology_graph.h"

namespace weft::topology_contract_test {
namespace {

using testing::HasSubstr;
using testing_gossip::every_topology;
using testing_gossip::graph_of;
using testing_gossip::MixingMatrix;
using testing_gossip::reached_from;
using testing_gossip::test_ids;
using testing_gossip::topology_of;
using testing_gossip::TopologyGraph;

// One member's edges: in order, symmetric in each round, within the degree that is promised.
void check_member(const PeerId& member, const std::map<PeerId, Neighbourhood>& all,
                  std::size_t degree_max) {
  const Neighbourhood& own = all.at(member);
  EXPECT_TRUE(std::is_sorted(own.peers.begin(), own.peers.end()));
  EXPECT_FALSE(own.contains(member));
  for (const PeerId& other : own.peers) EXPECT_TRUE(all.at(other).contains(member));
  for (std::uint64_t round = 1; round <= own.period; ++round) {
    std::size_t degree = 0;
    for (const PeerId& other : own.peers) {
      const bool due = own.exchanges(other, Round(round));
      degree += due ? 1 : 0;
      EXPECT_EQ(all.at(other).exchanges(member, Round(round)), due);
      EXPECT_TRUE(due || own.period > 1);
    }
    EXPECT_LE(degree, degree_max);
  }
}

void check_graph(const std::string& text, std::size_t members, std::uint64_t seed) {
  SCOPED_TRACE(text + " of " + std::to_string(members) + ", seed " + std::to_string(seed));
  const Topology topology = topology_of(text, seed);
  const std::vector<PeerId> ids = test_ids(members, seed);
  EXPECT_EQ(reached_from(graph_of(ids, topology), ids[0]), members);
  std::map<PeerId, Neighbourhood> all;
  for (const PeerId& member : ids) all[member] = topology.neighbours(member, ids);
  for (const PeerId& member : ids) check_member(member, all, topology.degree_max(members));
}

TEST(TopologyContract, EveryGraphIsSymmetricAndConnectsAllForUpTo64Members) {
  for (const std::string& text : every_topology()) {
    for (std::size_t members = 1; members <= 64; ++members) check_graph(text, members, members);
    for (std::uint64_t seed = 1; seed <= 8; ++seed) check_graph(text, 23, seed);
  }
}

TEST(TopologyContract, EveryGraphIsSymmetricAndConnectsSeveralHundreds) {
  for (const std::string& text : every_topology()) {
    for (const std::size_t members : {200U, 257U, 331U}) check_graph(text, members, 7);
  }
}

TEST(TopologyContract, TheOrderOfTheMembersDoesNotMatter) {
  for (const std::string& text : every_topology()) {
    SCOPED_TRACE(text);
    const Topology topology = topology_of(text, 1);
    std::vector<PeerId> ids = test_ids(50, 1);
    const TopologyGraph graph = graph_of(ids, topology);
    Rng rng(3);
    for (int i = 0; i < 3; ++i) {
      for (std::size_t k = ids.size(); k > 1; --k) std::swap(ids[k - 1], ids[rng.below(k)]);
      EXPECT_EQ(graph_of(ids, topology), graph);
    }
    // Whoever is not in its own book yet finds the same neighbours.
    const PeerId self = ids.back();
    const Neighbourhood with = topology.neighbours(self, ids);
    ids.pop_back();
    const Neighbourhood without = topology.neighbours(self, ids);
    EXPECT_EQ(without.peers, with.peers);
    EXPECT_EQ(without.slots, with.slots);
    EXPECT_EQ(without.period, with.period);
  }
}

TEST(TopologyContract, TheSeedMattersUnlessAllAreNeighbours) {
  for (const TopologyDef* def : topologies()) {
    if (def->name == "complete") continue;
    const std::vector<PeerId> ids = test_ids(50, 1);
    const std::string text(def->name);
    EXPECT_NE(graph_of(ids, topology_of(text, 1)), graph_of(ids, topology_of(text, 2))) << text;
  }
}

TEST(TopologyContract, AFixedDegreeIsTheSameForAnyNumberOfMembers) {
  for (const std::string& text : every_topology()) {
    const Topology topology = topology_of(text, 1);
    const bool same = topology.degree_max(100) == topology.degree_max(4096);
    EXPECT_EQ(topology.has_fixed_degree(), same) << text;
  }
}

// Metropolis weights, and weights as if all had the degree of the topology.
TEST(TopologyContract, WeightsAreSymmetricAndDoublyStochastic) {
  for (const std::string& text : every_topology()) {
    for (const std::size_t degree : {std::size_t{0}, topology_of(text, 1).degree_max(37)}) {
      for (const std::size_t members : {2U, 9U, 37U}) {
        SCOPED_TRACE(text);
        const MixingMatrix weights(test_ids(members, 5), topology_of(text, 5), Round(2), degree);
        for (std::size_t i = 0; i < weights.size(); ++i) {
          double row = 0;
          for (std::size_t j = 0; j < weights.size(); ++j) {
            EXPECT_EQ(weights.at(i, j), weights.at(j, i));
            EXPECT_GE(weights.at(i, j), 0);
            row += weights.at(i, j);
          }
          EXPECT_NEAR(row, 1, 1e-12);
          EXPECT_GT(weights.at(i, i), 0);
        }
      }
    }
  }
}

TEST(TopologyContract, NamesAreInOrderAndTextsComeBack) {
  EXPECT_EQ(plugin_table_fault(topologies()), "");
  for (const TopologyDef* def : topologies()) EXPECT_FALSE(def->degree_text.empty()) << def->name;
  for (const std::string& text : every_topology()) {
    const std::string again = topology_of(text, 1).text();
    EXPECT_EQ(topology_of(again, 1).text(), again) << text;
    const std::vector<PeerId> ids = test_ids(30, 2);
    EXPECT_EQ(graph_of(ids, topology_of(again, 1)), graph_of(ids, topology_of(text, 1))) << text;
  }
  EXPECT_EQ(Topology().text(), "random_regular");
}

TEST(TopologyContract, AWrongTextIsRefusedWithTheRemedy) {
  const auto fault = [](std::string_view text) {
    const Result<Topology> topology = Topology::parse(text);
    EXPECT_EQ(topology.status().code(), Code::kInvalidArgument) << text;
    return std::string(topology.status().message());
  };
  EXPECT_THAT(fault("rnig"), HasSubstr("did you mean \"ring\"?"));
  EXPECT_THAT(fault(""), HasSubstr("expected one of barabasi_albert, complete, "));
  EXPECT_THAT(fault("ring:degree=2"), HasSubstr("ring: expected no option"));
  EXPECT_THAT(fault("random_regular:degree=3"), HasSubstr("an even degree"));
  for (const char* const degree : {"0", "1", "66", "2.5", "x"}) {
    EXPECT_THAT(fault(std::string("random_regular:degree=") + degree),
                HasSubstr("degree: expected a whole number from 2 to 64, got"));
  }
  EXPECT_THAT(fault("erdos_renyi:p=1.5"), HasSubstr("from 0 to 1"));
  EXPECT_THAT(fault(std::string(600, 'r')), HasSubstr("at most 512 characters"));
}

}  // namespace
}  // namespace weft::topology_contract_test
