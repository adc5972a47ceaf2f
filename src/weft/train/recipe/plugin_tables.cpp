// The tables that `weft recipe` prints of codecs, gates, robust rules and topologies.
#include <span>
#include <string>

#include <fmt/format.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/codec/codec_def.h"
#include "weft/gate/gate_def.h"
#include "weft/gossip/topology/topology_def.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

std::string options_text(std::span<const Option> options) {
  std::string text;
  for (const Option& option : options) {
    if (!text.empty()) text += "<br>";
    text += fmt::format("`{}` = {} ({}{} to {}): {}", option.name, option.fallback,
                        option.whole ? "whole, " : "", option.min, option.max, option.help);
  }
  return text;
}

}  // namespace

std::string aggregator_table() {
  std::string out = "| rule | members, against f liars | options | |\n|---|---|---|---|\n";
  for (const AggregatorDef* def : aggregators()) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", def->name, def->least_text,
                       options_text(def->options), def->summary);
  }
  return out;
}

std::string gate_table() {
  std::string out = "| gate | options | |\n|---|---|---|\n";
  for (const GateDef* def : gates()) {
    out += fmt::format("| `{}` | {} | {} |\n", def->name, options_text(def->options), def->summary);
  }
  return out;
}

std::string topology_table() {
  std::string out = "| topology | neighbours | options | |\n|---|---|---|---|\n";
  for (const TopologyDef* def : topologies()) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", def->name, def->degree_text,
                       options_text(def->options), def->summary);
  }
  return out;
}

std::string codec_table() {
  std::string out = "| codec | encodes | options | |\n|---|---|---|---|\n";
  for (const CodecDef* def : codecs()) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", def->name,
                       def->hop ? "each hop" : "each member's input", options_text(def->options),
                       def->summary);
  }
  return out;
}

}  // namespace weft
