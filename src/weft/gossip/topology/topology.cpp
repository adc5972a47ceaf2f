#include "weft/gossip/topology/topology.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"
#include "weft/gossip/topology/topology_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const TopologyDef name##_topology;
#include "topology_table.inc"
#undef WEFT_PLUGIN

namespace {

constexpr const TopologyDef* kTopologies[] = {
#define WEFT_PLUGIN(name) &name##_topology,
#include "topology_table.inc"
#undef WEFT_PLUGIN
};

constexpr std::size_t kTopologyTextMax = 512;

Status unknown_topology(std::string_view name) {
  std::vector<std::string_view> names;
  for (const TopologyDef* def : kTopologies) names.push_back(def->name);
  return invalid_argument(fmt::format("expected one of {}, got \"{}\"{}", fmt::join(names, ", "),
                                      name, did_you_mean(name, names)));
}

std::size_t count_members(const PeerId& self, std::span<const PeerId> members) {
  std::set<PeerId> all(members.begin(), members.end());
  all.insert(self);
  return all.size();
}

}  // namespace

std::span<const TopologyDef* const> topologies() { return kTopologies; }

bool Neighbourhood::contains(const PeerId& peer) const {
  return std::binary_search(peers.begin(), peers.end(), peer);
}

bool Neighbourhood::exchanges(const PeerId& peer, Round round) const {
  const auto found = std::lower_bound(peers.begin(), peers.end(), peer);
  if (found == peers.end() || *found != peer) return false;
  if (period == 1) return true;
  return round.value() % period == slots[static_cast<std::size_t>(found - peers.begin())];
}

Topology::Topology() : Topology(*parse("random_regular")) {}

Result<Topology> Topology::parse(std::string_view text, std::uint64_t seed) {
  if (text.size() > kTopologyTextMax) {
    return invalid_argument(
        fmt::format("expected at most {} characters, got {}", kTopologyTextMax, text.size()));
  }
  const std::vector<std::string_view> parts = split_words(text, ':');
  const std::string_view name = parts.empty() ? text : parts.front();
  const auto def = std::ranges::find(kTopologies, name, &TopologyDef::name);
  if (def == std::end(kTopologies)) return unknown_topology(name);
  WEFT_TRY_ASSIGN(std::vector<double> options,
                  parse_options(name, (*def)->options, std::span(parts).subspan(1)));
  if ((*def)->check != nullptr) {
    WEFT_TRY((*def)->check(options));
  }
  return Topology(**def, std::move(options), seed);
}

std::string Topology::text() const {
  return std::string(def_->name) + format_options(def_->options, options_);
}

Neighbourhood Topology::neighbours(const PeerId& self, std::span<const PeerId> members) const {
  std::vector<TopologyEdge> edges = def_->edges({self, members, seed_, options_});
  std::sort(edges.begin(), edges.end());
  Neighbourhood found;
  if (def_->period != nullptr) found.period = def_->period(count_members(self, members));
  for (const TopologyEdge& edge : edges) {
    if (edge.peer == self || (!found.peers.empty() && found.peers.back() == edge.peer)) continue;
    found.peers.push_back(edge.peer);
    if (found.period > 1) found.slots.push_back(edge.slot);
  }
  return found;
}

std::size_t Topology::degree_max(std::size_t members) const {
  return def_->degree_max(std::max<std::size_t>(1, members), options_);
}

bool Topology::has_fixed_degree() const { return def_->has_fixed_degree; }

double metropolis_weight(std::size_t degree, std::size_t other_degree) {
  return 1.0 / (1.0 + static_cast<double>(std::max(degree, other_degree)));
}

}  // namespace weft
