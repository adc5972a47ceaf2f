// MixMethod: a published method of loose exchange as its parts: plan, trigger, combination, outer
// step, local update; and which part of a model neighbours exchange.
//
// A name stands for a row of one table ("fedavg", "fedbuff", "dfedsam"); each part of a row can be
// replaced by another text, and what does not go together is refused with the reason.
// Where it stands: a recipe's [mix] section -> here -> MixCore. Threads: immutable once parsed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/mix/combine/mix_combine.h"
#include "weft/mix/local/mix_local.h"
#include "weft/mix/outer/mix_outer.h"
#include "weft/mix/plan/mix_plan.h"
#include "weft/mix/trigger/mix_trigger.h"

namespace weft {

// One row of the table of methods.
struct MixMethodDef {
  std::string_view name;
  // One sentence for help pages, with the source.
  std::string_view summary;
  std::string_view plan;
  std::string_view trigger = "round";
  std::string_view combine = "mean";
  std::string_view outer = "plain";
  std::string_view local = "sgd";
  // kNeighbours: exchanges after each round of local steps.
  std::uint32_t mixes = 1;
  // kNeighbours: what is exchanged; "all" or "outputs".
  std::string_view part = "all";
};

// All methods, by name.
std::span<const MixMethodDef> mix_methods();

// A method as a person names it; an empty part is that of the method's row.
struct MixMethodTexts {
  std::string method = "fedavg";
  std::string plan = {};
  std::string trigger = {};
  std::string combine = {};
  std::string outer = {};
  std::string local = {};
  std::uint32_t mixes = 0;
  std::string part = {};
  // That robust combinations tolerate.
  int liars = 0;
  std::uint64_t seed = 1;
};

struct MixMethod {
  MixPlan plan;
  MixTrigger trigger;
  MixCombine combine;
  MixOuter outer;
  MixLocal local;
  std::uint32_t mixes = 1;
  // Neighbours exchange output layers alone, and everything else of a model is its member's own.
  bool outputs_only = false;

  // kInvalidArgument, which names the part, for an unknown text or parts that do not go together.
  static Result<MixMethod> parse(const MixMethodTexts& texts);
};

}  // namespace weft
