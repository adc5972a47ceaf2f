#include "weft/train/recipe/methods.h"

#include <fmt/format.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/codec/codec_def.h"
#include "weft/gate/gate_def.h"
#include "weft/gossip/topology/topology_def.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

// `table` has pointers to definitions with a name, a summary and options.
template <class Table, class Note>
std::vector<Method> methods_of(const Table& table, const Note& note) {
  std::vector<Method> methods;
  for (const auto* def : table) {
    methods.push_back({def->name, def->summary, def->options, note(*def)});
  }
  return methods;
}

std::string method_table(std::string_view key) {
  std::string out;
  for (const MethodFamily& family : method_families()) {
    if (family.key != key) continue;
    const bool noted = !family.note_title.empty();
    out += fmt::format("| {} |{} options | |\n|---|{}---|---|\n", family.kind,
                       noted ? fmt::format(" {} |", family.note_title) : "", noted ? "---|" : "");
    for (const Method& method : family.methods) {
      std::string options;
      for (const Option& option : method.options) {
        if (!options.empty()) options += "<br>";
        options += option_text(option, "`");
      }
      out += fmt::format("| `{}` |{} {} | {} |\n", method.name,
                         noted ? fmt::format(" {} |", method.note) : "", options, method.summary);
    }
  }
  return out;
}

}  // namespace

std::vector<MethodFamily> method_families() {
  return {
      {"aggregate.rule", "rule", "How members' updates become one where some may lie",
       "members, against f liars",
       methods_of(aggregators(), [](const AggregatorDef& def) { return def.least_text; })},
      {"gossip.topology", "topology", "With whom each member mixes its parameters", "neighbours",
       methods_of(topologies(), [](const TopologyDef& def) { return def.degree_text; })},
      {"group.late", "gate", "What becomes of gradients that miss their round", "",
       methods_of(gates(), [](const GateDef& /*def*/) { return std::string_view(); })},
      {"group.wire", "codec", "How gradients travel", "encodes",
       methods_of(codecs(),
                  [](const CodecDef& def) {
                    return std::string_view(def.hop ? "each hop" : "each member's input");
                  })},
  };
}

std::string option_text(const Option& option, std::string_view quote) {
  return fmt::format("{0}{1}{0} = {2} ({3}{4} to {5}): {6}", quote, option.name, option.fallback,
                     option.whole ? "whole, " : "", option.min, option.max, option.help);
}

std::string aggregator_table() { return method_table("aggregate.rule"); }
std::string gate_table() { return method_table("group.late"); }
std::string topology_table() { return method_table("gossip.topology"); }
std::string codec_table() { return method_table("group.wire"); }

}  // namespace weft
