// MixPlan: who trains, who combines what they return, and with what weights neighbours mix.
//
// A text names one: a plan of this family ("star:fraction=0.1", "sampled:size=10"), or a topology
// of the gossip family ("ring", "random_regular:degree=4"), with which every member combines its
// own model with its neighbours'. Each file NAME_plan.cpp is one of this family.
//
// Members are numbered from 0. A plan is a pure function of their count, the version and a seed,
// so that all agree on it without a message.
//
//   kServer      member 0 combines; it gives each version to members, who return deltas
//   kSampled     each version has members of its own, drawn; one of them combines their models
//   kNeighbours  every member combines its model with those of its neighbours, in each round
//   kPairwise    every member meets one other at a time, without rounds (MixMeeting)
//
// Rows of neighbours' weights are symmetric and doubly stochastic (Metropolis weights), so that
// mixing keeps the mean of all models.
// Where it stands: MixCore asks it. Threads: immutable once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/status.h"
#include "weft/base/text/plugin_text.h"
#include "weft/mix/meet/mix_meeting.h"

namespace weft {

class Topology;
struct MixPlanDef;  // mix_plan_def.h

enum class MixStyle : std::uint8_t { kServer, kSampled, kNeighbours, kPairwise };

// One source of a combination, and its share.
struct MixWeight {
  std::uint32_t member = 0;
  double weight = 0;
  friend bool operator==(const MixWeight&, const MixWeight&) = default;
};

class MixPlan {
 public:
  // kInvalidArgument for a name that is in neither family, or a wrong option.
  static Result<MixPlan> parse(std::string_view text, std::uint64_t seed);

  std::string text() const;
  MixStyle style() const;

  // kServer, kSampled: who of those that are alive trains version `version`, by number. A member
  // that knows of another loss may draw others. REQUIRES: at least one member.
  std::vector<std::uint32_t> trainers(std::uint64_t version, const std::vector<bool>& alive) const;
  // kSampled: whether a member may have been given a version by one that takes others for lost than
  // this one does: it is among twice as many that are drawn.
  bool may_train(std::uint64_t version, std::uint32_t member, const std::vector<bool>& alive) const;
  // kSampled: who of those that are alive combines what comes from version `version`.
  std::uint32_t combiner(std::uint64_t version, const std::vector<bool>& alive) const;
  // kPairwise: whether a member's work is a gradient instead of local steps.
  bool takes_gradients() const;
  // kPairwise: one member's side of all its meetings.
  std::unique_ptr<MixMeeting> meeting(const MixMeetingOptions& options, MixVector first) const;
  // kNeighbours: the sources of `self` in round `version`, `self` included, by number. The weights
  // add up to 1. A graph that does not change is computed once for each member.
  std::vector<MixWeight> row(std::uint32_t self, std::uint64_t version,
                             std::uint32_t members) const;

 private:
  // The neighbours of each member in a graph, for one number of members.
  class Graph;
  std::vector<std::uint32_t> neighbours(std::uint32_t self, std::uint64_t version,
                                        std::uint32_t members) const;

  // Null where a topology was named.
  Plugin<MixPlanDef> plan_;
  std::shared_ptr<const Topology> topology_;
  std::shared_ptr<Graph> graph_;
  std::uint64_t seed_ = 0;
};

// The plans of this family, by name.
std::span<const MixPlanDef* const> mix_plans();

}  // namespace weft
