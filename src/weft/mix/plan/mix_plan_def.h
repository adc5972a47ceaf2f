// A file NAME_plan.cpp defines one of these: a plan of MixPlan.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "weft/base/option.h"
#include "weft/mix/meet/mix_meeting.h"
#include "weft/mix/plan/mix_plan.h"

namespace weft {

struct MixPlanInput {
  std::uint64_t version = 0;
  std::uint32_t members = 1;
  std::uint64_t seed = 0;
  // kServer, kSampled: who takes part at present, by number.
  const std::vector<bool>* alive = nullptr;
  // In the order of MixPlanDef::options.
  std::span<const double> options;
};

struct MixPlanDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::span<const Option> options = {};
  MixStyle style = MixStyle::kServer;
  // kServer, kSampled: as MixPlan's, without a promise about the order; of those alive.
  std::vector<std::uint32_t> (*trainers)(const MixPlanInput& input) = nullptr;
  // kSampled: who trains where others take members for lost that are alive; trainers among them.
  std::vector<std::uint32_t> (*stand_ins)(const MixPlanInput& input) = nullptr;
  // kSampled; of those alive.
  std::uint32_t (*combiner)(const MixPlanInput& input) = nullptr;
  // kNeighbours: with whom `self` mixes, without itself; symmetric.
  std::vector<std::uint32_t> (*neighbours)(const MixPlanInput& input, std::uint32_t self) = nullptr;
  // kPairwise: whether a member's work is a gradient instead of local steps.
  bool takes_gradients = false;
  // kPairwise; with the plan's options.
  std::unique_ptr<MixMeeting> (*meeting)(const MixMeetingOptions& options, MixVector first,
                                         std::span<const double> own) = nullptr;
};

}  // namespace weft
