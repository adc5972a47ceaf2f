#include "weft/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "weft/base/check.h"
#include "weft/base/nearest_name.h"
#include "weft/base/text/option_text.h"
#include "weft/gate/gate_def.h"

namespace weft {

#define WEFT_PLUGIN(name) extern const GateDef name##_gate;
#include "gate_table.inc"
#undef WEFT_PLUGIN

static constexpr const GateDef* kGates[] = {
#define WEFT_PLUGIN(name) &name##_gate,
#include "gate_table.inc"
#undef WEFT_PLUGIN
};

static constexpr std::size_t kGateTextMax = 200;

std::span<const GateDef* const> gates() { return kGates; }

Gate::Gate() : def_(&drop_gate) {}

Result<Gate> Gate::parse(std::string_view text) {
  const std::vector<std::string_view> parts =
      split_words(text.substr(0, std::min(text.size(), kGateTextMax + 1)), ':');
  const std::string_view name = parts.empty() ? text : parts.front();
  const auto* const def = std::ranges::find(kGates, name, &GateDef::name);
  if (def == std::end(kGates) || text.size() > kGateTextMax) {
    std::vector<std::string_view> names;
    for (const GateDef* each : kGates) names.push_back(each->name);
    return invalid_argument(fmt::format("expected one of {}, got \"{}\"{}", fmt::join(names, ", "),
                                        name, did_you_mean(name, names)));
  }
  Gate gate;
  gate.def_ = *def;
  WEFT_TRY_ASSIGN(gate.options_,
                  parse_options((*def)->name, (*def)->options, std::span(parts).subspan(1)));
  return gate;
}

std::string Gate::text() const {
  return std::string(def_->name) + format_options(def_->options, options_);
}

bool Gate::keeps() const { return def_->weight != nullptr; }

double Gate::weight(const Lateness& late) const {
  WEFT_CHECK(late.staleness >= 1 && late.round >= 1);
  return keeps() ? def_->weight({options_}, late) : 0.0;
}

bool Gate::corrects() const { return def_->corrected != nullptr; }

void Gate::correct(const MovedParameters& moved, std::span<float> gradients) const {
  if (!corrects()) return;
  WEFT_CHECK(moved.then.size() == gradients.size() && moved.now.size() == gradients.size());
  WEFT_CHECK(moved.part > 0);
  const GateInput input = {options_};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (moved.then[i] == moved.now[i]) continue;
    const double distance = static_cast<double>(moved.now[i]) - static_cast<double>(moved.then[i]);
    const double mean = static_cast<double>(gradients[i]) / moved.part;
    const auto value = static_cast<float>(def_->corrected(input, mean, distance) * moved.part);
    if (std::isfinite(value)) gradients[i] = value;
  }
}

}  // namespace weft
