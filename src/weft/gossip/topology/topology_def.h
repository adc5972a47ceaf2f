// A file NAME_topology.cpp defines one of these: a graph of Topology.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/option.h"
#include "weft/base/status.h"
#include "weft/wire/ids.h"

namespace weft {

// Whose neighbours are asked for.
struct TopologyInput {
  PeerId self;
  // In any order, with or without `self`.
  std::span<const PeerId> members;
  std::uint64_t seed = 0;
  // In the order of TopologyDef::options.
  std::span<const double> options;
};

struct TopologyEdge {
  PeerId peer;
  // In a time-varying graph: in which of the rounds of a period it is, from 0.
  std::uint32_t slot = 0;

  friend auto operator<=>(const TopologyEdge&, const TopologyEdge&) = default;
};

struct TopologyDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  // The number of neighbours as a formula of the members n and the options.
  std::string_view degree_text;
  std::span<const Option> options = {};
  // What is wrong with options that are each in range; null: nothing can be.
  Status (*check)(std::span<const double> options) = nullptr;
  // The most neighbours of a member in one round; `members` is at least 1.
  std::size_t (*degree_max)(std::size_t members, std::span<const double> options);
  // degree_max() does not depend on the members.
  bool has_fixed_degree = false;
  // In any order; edges that come twice, or lead to `self`, count once or not at all.
  std::vector<TopologyEdge> (*edges)(const TopologyInput& input);
  // After how many rounds a time-varying graph returns; null: it is the same in all rounds.
  std::uint32_t (*period)(std::size_t members) = nullptr;
};

}  // namespace weft
