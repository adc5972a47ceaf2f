// What recipes say of a loose exchange.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "weft/gossip/topology/topology.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// The topology that takes its degree from gossip.degree where its text has none.
static constexpr std::string_view kOfDegree = "random_regular";

bool gossips(const Recipe& recipe) { return recipe.group.exchange == "gossip"; }

Result<Topology> gossip_topology(const Recipe& recipe) {
  std::string text = recipe.gossip.topology;
  if (text == kOfDegree) text += fmt::format(":degree={}", recipe.gossip.degree);
  Result<Topology> topology = Topology::parse(text, static_cast<std::uint64_t>(recipe.run.seed));
  if (!topology.ok()) return topology.status().with_context("gossip.topology");
  return topology;
}

static Status check_topology(const Recipe& recipe) {
  const Recipe::Gossip& gossip = recipe.gossip;
  WEFT_TRY(gossip_topology(recipe).status());
  const bool has_own_degree =
      gossip.topology.starts_with(kOfDegree) && gossip.topology != kOfDegree;
  if (has_own_degree && gossip.degree != Recipe().gossip.degree) {
    return invalid_argument(fmt::format(
        "gossip.degree: expected none beside gossip.topology = \"{}\", which names its own, got {}",
        gossip.topology, gossip.degree));
  }
  return {};
}

std::size_t gossip_weight_degree(const Recipe& recipe) {
  const Result<Topology> topology = gossip_topology(recipe);
  if (recipe.gossip.weights != "uniform" || !topology.ok()) return 0;
  return topology->degree_max(1);
}

static Status check_weights(const Recipe& recipe) {
  WEFT_TRY_ASSIGN(const Topology topology, gossip_topology(recipe));
  if (recipe.gossip.weights != "uniform" || topology.has_fixed_degree()) return {};
  return invalid_argument(
      fmt::format("gossip.weights: expected \"metropolis\" with gossip.topology = \"{}\", whose "
                  "largest number of "
                  "neighbours depends on the members, which not all count alike, got \"uniform\"",
                  recipe.gossip.topology));
}

bool gossips_robustly(const Recipe& recipe) {
  return gossips(recipe) && recipe.gossip.rule != "mean";
}

// More than half of the vectors in hand, the member's own among them, must be honest.
static Status check_rule(const Recipe& recipe) {
  if (!gossips_robustly(recipe)) return {};
  const auto refuse = [&](std::string_view key, std::string_view expected, const auto& got) {
    return invalid_argument(fmt::format("{}: expected {} with gossip.rule = \"{}\", got {}", key,
                                        expected, recipe.gossip.rule, got));
  };
  if (recipe.gossip.weights != "metropolis") {
    return refuse("gossip.weights", "\"metropolis\", since all that are kept count alike,",
                  recipe.gossip.weights);
  }
  const std::int64_t liars = recipe.aggregate.liars;
  if (liars == 0) return refuse("aggregate.liars", "1 or more", liars);
  WEFT_TRY_ASSIGN(const Topology topology, gossip_topology(recipe));
  const auto members =
      static_cast<std::size_t>(std::max<std::int64_t>(recipe.group.start_members, 2 * liars + 1));
  const std::size_t neighbours = topology.degree_max(members);
  if (neighbours >= 2 * static_cast<std::size_t>(liars)) return {};
  return invalid_argument(fmt::format(
      "gossip.topology: expected twice as many neighbours as aggregate.liars = {} with gossip.rule "
      "= \"{}\", got at most {} with \"{}\"; set gossip.degree to {}, or another topology",
      liars, recipe.gossip.rule, neighbours, topology.text(), 2 * liars));
}

Status check_gossip(const Recipe& recipe) {
  if (!gossips(recipe)) {
    if (recipe.gossip.rule != "mean") {
      return invalid_argument(
          fmt::format("gossip.rule: expected \"mean\" with group.exchange = \"{}\", got \"{}\"; "
                      "set aggregate.rule",
                      recipe.group.exchange, recipe.gossip.rule));
    }
    return Topology::parse(recipe.gossip.topology).status().with_context("gossip.topology");
  }
  const auto refuse = [](const char* key, const char* expected, const std::string& got) {
    return invalid_argument(fmt::format("{}: expected {} with group.exchange = \"gossip\", got {}",
                                        key, expected, got));
  };
  const Recipe::Group& group = recipe.group;
  if (recipe.gossip.degree % 2 != 0) {
    return refuse("gossip.degree", "an even number", std::to_string(recipe.gossip.degree));
  }
  WEFT_TRY(check_topology(recipe));
  WEFT_TRY(check_weights(recipe));
  WEFT_TRY(check_rule(recipe));
  if (recipe.local.steps > 1) return refuse("local.steps", "1", std::to_string(recipe.local.steps));
  if (group.audit) return refuse("group.audit", "false", "true");
  if (group.wait != "all") return refuse("group.wait", "\"all\"", group.wait);
  if (group.shares != "equal") return refuse("group.shares", "\"equal\"", group.shares);
  if (group.wire != "f32") return refuse("group.wire", "\"f32\"", group.wire);
  if (group.on_split != "pause") return refuse("group.on_split", "\"pause\"", group.on_split);
  if (recipe.aggregate.rule != "mean") {
    return refuse("aggregate.rule", "\"mean\"", recipe.aggregate.rule);
  }
  return {};
}

}  // namespace weft
