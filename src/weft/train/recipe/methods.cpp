#include "weft/train/recipe/methods.h"

#include <fmt/format.h>

#include "weft/aggregate/aggregator_def.h"
#include "weft/code/code_def.h"
#include "weft/code/coding_scheme.h"
#include "weft/codec/codec_def.h"
#include "weft/data/partition.h"
#include "weft/gate/gate_def.h"
#include "weft/gossip/topology/topology_def.h"
#include "weft/mix/combine/mix_combine_def.h"
#include "weft/mix/local/mix_local_def.h"
#include "weft/mix/mix_method.h"
#include "weft/mix/outer/mix_outer_def.h"
#include "weft/mix/plan/mix_plan_def.h"
#include "weft/mix/trigger/mix_trigger_def.h"
#include "weft/train/recipe/program_methods.h"
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

std::vector<Method> mix_rows() {
  std::vector<Method> methods;
  for (const MixMethodDef& def : mix_methods()) {
    methods.push_back({def.name, def.summary, {}, def.plan});
  }
  return methods;
}

std::vector<Method> program_rows() {
  std::vector<Method> methods;
  for (const ProgramMethodDef& def : program_methods()) {
    methods.push_back({def.name, def.summary, def.options, def.program});
  }
  return methods;
}

std::string_view no_note(const auto& /*def*/) { return {}; }

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
      {"code", "code",
       "How work is shared so that slow members need not be waited for; no recipe names one yet",
       "load", methods_of(codes(), [](const CodeDef& def) { return def.load_text; })},
      {"data.partition", "partition", "Which samples each member of a group that mixes has", "",
       methods_of(partitions(), no_note<PartitionDef>)},
      {"gossip.topology", "topology", "With whom each member mixes its parameters", "neighbours",
       methods_of(topologies(), [](const TopologyDef& def) { return def.degree_text; })},
      {"group.late", "gate", "What becomes of gradients that miss their round", "",
       methods_of(gates(), [](const GateDef& /*def*/) { return std::string_view(); })},
      {"group.wire", "codec", "How gradients travel", "encodes",
       methods_of(codecs(),
                  [](const CodecDef& def) {
                    return std::string_view(def.hop ? "each hop" : "each member's input");
                  })},
      {"mix.combine", "combination", "How deltas become one; or a rule of aggregate.rule", "",
       methods_of(mix_combines(), no_note<MixCombineDef>)},
      {"mix.local", "local update", "What a member does with the model that it was given", "",
       methods_of(mix_locals(), no_note<MixLocalDef>)},
      {"mix.method", "method", "Published methods of loose exchange", "plan", mix_rows()},
      {"mix.outer", "outer step", "The step that a combined delta makes", "",
       methods_of(mix_outers(), no_note<MixOuterDef>)},
      {"mix.plan", "plan", "Who trains and who combines; or a topology of gossip.topology", "",
       methods_of(mix_plans(), no_note<MixPlanDef>)},
      {"mix.trigger", "trigger", "When deltas are combined, and who is given work", "",
       methods_of(mix_triggers(), no_note<MixTriggerDef>)},
      {"program", "method",
       "Published methods that are programs of the Python package; `weft compare` runs their "
       "recipes of recipes/methods",
       "program", program_rows()},
  };
}

std::string option_text(const Option& option, std::string_view quote) {
  return fmt::format("{0}{1}{0} = {2} ({3}{4} to {5}): {6}", quote, option.name, option.fallback,
                     option.whole ? "whole, " : "", option.min, option.max, option.help);
}

std::string mix_tables() {
  std::string out;
  for (const MethodFamily& family : method_families()) {
    if (!family.key.starts_with("mix.") && family.key != "data.partition") continue;
    if (!out.empty()) out += "\n";
    out += fmt::format("### {}\n\n{}", family.key, method_table(family.key));
  }
  return out;
}

std::string program_method_table() { return method_table("program"); }
std::string aggregator_table() { return method_table("aggregate.rule"); }
std::string code_table() { return method_table("code"); }
std::string gate_table() { return method_table("group.late"); }
std::string topology_table() { return method_table("gossip.topology"); }
std::string codec_table() { return method_table("group.wire"); }

}  // namespace weft
