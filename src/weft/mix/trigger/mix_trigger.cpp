#include "weft/mix/trigger/mix_trigger.h"

#include <algorithm>
#include <utility>

#include "weft/base/check.h"
#include "weft/mix/trigger/mix_trigger_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const MixTriggerDef name##_trigger;
#include "trigger_table.inc"
#undef WEFT_PLUGIN

static constexpr const MixTriggerDef* kTriggers[] = {
#define WEFT_PLUGIN(name) &name##_trigger,
#include "trigger_table.inc"
#undef WEFT_PLUGIN
};

std::span<const MixTriggerDef* const> mix_triggers() { return kTriggers; }

void MixTriggerState::begin(std::uint64_t version, std::span<const std::uint32_t> expected,
                            TimePoint now) {
  version_ = version;
  on_begin(expected, now);
}

bool MixTriggerState::add(const MixArrival& arrival, TimePoint now) {
  WEFT_CHECK(arrival.base <= version_ && arrival.from < input_.members);
  if (!accepts(arrival, now)) return false;
  arrivals_.push_back(arrival);
  return true;
}

void MixTriggerState::lose(std::uint32_t member, TimePoint now) { on_lost(member, now); }

std::vector<std::optional<double>> MixTriggerState::take(TimePoint now) {
  WEFT_CHECK(ready(now));
  std::vector<std::optional<double>> weights;
  std::vector<MixArrival> rest;
  for (const MixArrival& arrival : arrivals_) {
    const bool taken = takes(arrival, now);
    weights.push_back(taken ? std::optional(weight(arrival)) : std::nullopt);
    if (!taken) rest.push_back(arrival);
  }
  arrivals_ = std::move(rest);
  on_taken(now);
  return weights;
}

std::uint32_t MixTriggerState::assign(std::uint32_t /*member*/, TimePoint /*now*/) {
  return input_.steps;
}

bool MixTriggerState::has_arrived(std::uint32_t member) const {
  return std::ranges::find(arrivals_, member, &MixArrival::from) != arrivals_.end();
}

Result<MixTrigger> MixTrigger::parse(std::string_view text) {
  MixTrigger trigger;
  WEFT_TRY_ASSIGN(trigger.plugin_, parse_plugin<MixTriggerDef>(text, kTriggers));
  return trigger;
}

std::string MixTrigger::text() const { return plugin_.text(); }

bool MixTrigger::is_round() const { return plugin_.def->is_round; }

std::uint32_t MixTrigger::steps(std::uint64_t version, std::uint32_t steps) const {
  const MixTriggerDef& def = *plugin_.def;
  return def.steps == nullptr ? steps : def.steps(plugin_.options, version, steps);
}

bool MixTrigger::has_timeout() const {
  const MixTriggerDef& def = *plugin_.def;
  return def.has_timeout != nullptr && def.has_timeout(plugin_.options);
}

std::uint64_t MixTrigger::delay() const {
  const MixTriggerDef& def = *plugin_.def;
  return def.delay == nullptr ? 0 : def.delay(plugin_.options);
}

std::unique_ptr<MixTriggerState> MixTrigger::make(std::uint32_t members,
                                                  std::uint32_t steps) const {
  return plugin_.def->make({members, steps, plugin_.options});
}

}  // namespace weft
