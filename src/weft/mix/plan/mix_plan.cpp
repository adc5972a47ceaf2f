#include "weft/mix/plan/mix_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "weft/base/check.h"
#include "weft/gossip/topology/topology.h"
#include "weft/gossip/topology/topology_def.h"
#include "weft/mix/plan/mix_plan_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const MixPlanDef name##_plan;
#include "plan_table.inc"
#undef WEFT_PLUGIN

static constexpr const MixPlanDef* kPlans[] = {
#define WEFT_PLUGIN(name) &name##_plan,
#include "plan_table.inc"
#undef WEFT_PLUGIN
};

std::span<const MixPlanDef* const> mix_plans() { return kPlans; }

namespace {

// Ids in the order of the numbers, for topologies, which know members by their ids.
PeerId id_of(std::uint32_t member) {
  PeerId id;
  for (int i = 0; i < 4; ++i) {
    id.bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(member >> (24 - 8 * i));
  }
  return id;
}

std::uint32_t member_of(const PeerId& id) {
  std::uint32_t member = 0;
  for (std::size_t i = 0; i < 4; ++i) member = member << 8U | id.bytes[i];
  return member;
}

Status unknown_plan(std::string_view text) {
  std::vector<std::string_view> names;
  for (const MixPlanDef* const def : kPlans) names.push_back(def->name);
  for (const TopologyDef* const def : topologies()) names.push_back(def->name);
  return unknown_plugin(text, names);
}

}  // namespace

class MixPlan::Graph {
 public:
  const Neighbourhood& of(std::uint32_t self, std::uint32_t members, const Topology& topology) {
    if (ids_.size() != members) {
      ids_.clear();
      known_.clear();
      for (std::uint32_t i = 0; i < members; ++i) ids_.push_back(id_of(i));
    }
    const auto found = known_.find(self);
    if (found != known_.end()) return found->second;
    return known_.emplace(self, topology.neighbours(id_of(self), ids_)).first->second;
  }

 private:
  std::vector<PeerId> ids_;
  std::map<std::uint32_t, Neighbourhood> known_;
};

Result<MixPlan> MixPlan::parse(std::string_view text, std::uint64_t seed) {
  MixPlan plan;
  plan.seed_ = seed;
  plan.graph_ = std::make_shared<Graph>();
  if (find_plugin<MixPlanDef>(text, kPlans) != nullptr) {
    WEFT_TRY_ASSIGN(plan.plan_, parse_plugin<MixPlanDef>(text, kPlans));
    return plan;
  }
  if (find_plugin<TopologyDef>(text, topologies()) == nullptr) return unknown_plan(text);
  WEFT_TRY_ASSIGN(Topology topology, Topology::parse(text, seed));
  plan.topology_ = std::make_shared<const Topology>(std::move(topology));
  return plan;
}

std::string MixPlan::text() const { return topology_ ? topology_->text() : plan_.text(); }

MixStyle MixPlan::style() const { return topology_ ? MixStyle::kNeighbours : plan_.def->style; }

std::vector<std::uint32_t> MixPlan::trainers(std::uint64_t version,
                                             const std::vector<bool>& alive) const {
  WEFT_CHECK(plan_.def != nullptr && plan_.def->trainers != nullptr && !alive.empty());
  const auto members = static_cast<std::uint32_t>(alive.size());
  std::vector<std::uint32_t> all =
      plan_.def->trainers({version, members, seed_, &alive, plan_.options});
  std::sort(all.begin(), all.end());
  return all;
}

bool MixPlan::may_train(std::uint64_t version, std::uint32_t member,
                        const std::vector<bool>& alive) const {
  WEFT_CHECK(style() == MixStyle::kSampled && !alive.empty());
  const auto members = static_cast<std::uint32_t>(alive.size());
  const std::vector<std::uint32_t> all =
      plan_.def->stand_ins({version, members, seed_, &alive, plan_.options});
  return std::ranges::find(all, member) != all.end();
}

std::uint32_t MixPlan::combiner(std::uint64_t version, const std::vector<bool>& alive) const {
  WEFT_CHECK(style() == MixStyle::kSampled && !alive.empty());
  const auto members = static_cast<std::uint32_t>(alive.size());
  return plan_.def->combiner({version, members, seed_, &alive, plan_.options});
}

std::vector<std::uint32_t> MixPlan::neighbours(std::uint32_t self, std::uint64_t version,
                                               std::uint32_t members) const {
  if (!topology_)
    return plan_.def->neighbours({version, members, seed_, nullptr, plan_.options}, self);
  const Neighbourhood& all = graph_->of(self, members, *topology_);
  std::vector<std::uint32_t> now;
  for (const PeerId& peer : all.peers) {
    if (all.exchanges(peer, Round(version))) now.push_back(member_of(peer));
  }
  return now;
}

bool MixPlan::takes_gradients() const { return !topology_ && plan_.def->takes_gradients; }

std::unique_ptr<MixMeeting> MixPlan::meeting(const MixMeetingOptions& options,
                                             MixVector first) const {
  WEFT_CHECK(style() == MixStyle::kPairwise && options.self < options.members);
  return plan_.def->meeting(options, std::move(first), plan_.options);
}

std::vector<MixWeight> MixPlan::row(std::uint32_t self, std::uint64_t version,
                                    std::uint32_t members) const {
  WEFT_CHECK(style() == MixStyle::kNeighbours && self < members);
  const std::vector<std::uint32_t> with = neighbours(self, version, members);
  std::vector<MixWeight> row;
  bool equal = true;  // all have as many neighbours
  double others = 0;
  for (const std::uint32_t member : with) {
    const std::size_t degree = neighbours(member, version, members).size();
    row.push_back({member, metropolis_weight(with.size(), degree)});
    others += row.back().weight;
    equal = equal && degree <= with.size();
  }
  // Where all shares are equal they have equal bits, too.
  row.push_back({self, equal ? 1.0 / (1.0 + static_cast<double>(with.size())) : 1.0 - others});
  std::ranges::sort(row, {}, &MixWeight::member);
  return row;
}

}  // namespace weft
