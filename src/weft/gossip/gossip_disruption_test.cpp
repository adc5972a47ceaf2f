// The member with the most neighbours dies, in every topology: the others compute the graph without
// it and go on agreeing.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "weft/gossip/gossip_core.h"
#include "weft/gossip/test_gossip_network.h"
#include "weft/gossip/topology/test_topology_graph.h"

namespace weft::gossip_disruption_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using testing_gossip::topology_of;

constexpr std::size_t kMembers = 24;

// From the mean of those that run.
double distance_of_survivors(TestGossipNetwork& network) {
  double mean = 0;
  double square = 0;
  double count = 0;
  for (std::size_t i = 0; i < network.size(); ++i) {
    const TestGossipNetwork::Member& member = network.member(i);
    if (!member.running) continue;
    count += 1;
    mean += static_cast<double>(member.values[0]);
    square += std::pow(static_cast<double>(member.values[0]), 2);
  }
  return std::sqrt(std::max(0.0, square / count - std::pow(mean / count, 2)));
}

std::size_t hub_of(TestGossipNetwork& network, const Topology& topology) {
  std::vector<PeerId> ids;
  for (std::size_t i = 0; i < network.size(); ++i) ids.push_back(network.id(i));
  const auto degree = [&](const PeerId& id) { return topology.neighbours(id, ids).peers.size(); };
  const auto hub = std::max_element(ids.begin(), ids.end(), [&](const PeerId& a, const PeerId& b) {
    return degree(a) < degree(b);
  });
  return static_cast<std::size_t>(hub - ids.begin());
}

// Whether the members that run have the neighbours of a graph of these members alone.
void expect_graph_of_survivors(TestGossipNetwork& network, const Topology& topology) {
  std::vector<PeerId> living;
  for (std::size_t i = 0; i < network.size(); ++i) {
    if (network.member(i).running) living.push_back(network.id(i));
  }
  for (std::size_t i = 0; i < network.size(); ++i) {
    const TestGossipNetwork::Member& member = network.member(i);
    if (!member.running) continue;
    const Neighbourhood own = topology.neighbours(network.id(i), living);
    // The last round of a period, in any order of its slots.
    for (std::size_t back = 1; back <= own.period; ++back) {
      const GossipMix& mix = member.mixes[member.mixes.size() - back];
      const auto due = std::count_if(own.peers.begin(), own.peers.end(), [&](const PeerId& peer) {
        return own.exchanges(peer, mix.round);
      });
      EXPECT_EQ(mix.members, living.size()) << i;
      EXPECT_EQ(mix.mixed, static_cast<std::size_t>(due)) << i << " in " << mix.round.value();
    }
  }
}

void kill_hub(const std::string& text, bool links_end) {
  SCOPED_TRACE(text + (links_end ? ", links end" : ", without a word"));
  const Topology topology = topology_of(text, 5);
  TestGossipOptions options;
  options.seed = 5;
  options.gossip.topology = topology;
  options.gossip.start_members = kMembers;
  options.gossip.deadline = milliseconds(200);
  options.gossip.last_round = Round(1000);
  // The group is driven apart until the hub dies, so that there is something left to agree on.
  bool is_driven = true;
  TestGossipNetwork network(
      options, [&](std::size_t member, Round, std::span<const float>, std::span<float> mixed) {
        if (is_driven) mixed[0] += static_cast<float>(member % 5) - 2;
      });
  for (std::size_t i = 0; i < kMembers; ++i) {
    network.add({static_cast<float>(i)}, false,
                i == 0 ? std::vector<std::size_t>{} : std::vector<std::size_t>{0});
  }
  ASSERT_TRUE(network.run_rounds(Round(10), minutes(5)));
  network.crash(hub_of(network, topology), links_end);
  is_driven = false;
  const double before = distance_of_survivors(network);
  ASSERT_TRUE(network.run_rounds(Round(220), minutes(30)));
  EXPECT_LT(distance_of_survivors(network), 0.1 * before);
  expect_graph_of_survivors(network, topology);
  for (std::size_t i = 0; i < kMembers; ++i) {
    EXPECT_LE(network.member(i).longest_pause, options.gossip.deadline + milliseconds(1)) << i;
    EXPECT_EQ(network.member(i).closed_corrupt, 0U);
  }
}

TEST(GossipDisruption, WhereTheHubDiesTheOthersGoOnWithTheGraphOfTheLiving) {
  for (const TopologyDef* def : topologies()) {
    kill_hub(std::string(def->name), true);
    kill_hub(std::string(def->name), false);
  }
}

}  // namespace
}  // namespace weft::gossip_disruption_test
