// The whole graph that a topology gives to some members, for the tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "weft/base/status.h"
#include "weft/gossip/topology/topology.h"
#include "weft/gossip/topology/topology_def.h"

namespace weft::testing_gossip {

using TopologyGraph = std::map<PeerId, std::set<PeerId>>;

inline Topology topology_of(const std::string& text, std::uint64_t seed) {
  const Result<Topology> topology = Topology::parse(text, seed);
  EXPECT_TRUE(topology.ok()) << topology.status().message();
  return topology.ok() ? *topology : Topology();
}

// Each topology with its defaults and with each option at the ends of its range.
inline std::vector<std::string> every_topology() {
  std::vector<std::string> all;
  for (const TopologyDef* def : topologies()) {
    all.emplace_back(def->name);
    for (const Option& option : def->options) {
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, option.min));
      all.push_back(fmt::format("{}:{}={}", def->name, option.name, option.max));
    }
  }
  return all;
}

// The edges of all rounds.
inline TopologyGraph graph_of(const std::vector<PeerId>& members, const Topology& topology) {
  TopologyGraph graph;
  for (const PeerId& member : members) {
    const std::vector<PeerId> found = topology.neighbours(member, members).peers;
    graph[member] = {found.begin(), found.end()};
  }
  return graph;
}

inline std::size_t edge_count(const TopologyGraph& graph) {
  std::size_t ends = 0;
  for (const auto& [member, neighbours] : graph) ends += neighbours.size();
  return ends / 2;
}

inline std::size_t reached_from(const TopologyGraph& graph, const PeerId& start) {
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

// How many edges between members of both graphs are in one of them only.
inline std::size_t edges_changed(const TopologyGraph& a, const TopologyGraph& b) {
  std::size_t ends = 0;
  const auto count = [&ends](const TopologyGraph& from, const TopologyGraph& to) {
    for (const auto& [member, neighbours] : from) {
      const auto there = to.find(member);
      if (there == to.end()) continue;
      for (const PeerId& other : neighbours) {
        ends += to.contains(other) && !there->second.contains(other) ? 1 : 0;
      }
    }
  };
  count(a, b);
  count(b, a);
  return ends / 2;
}

}  // namespace weft::testing_gossip
