// What recipes say of rules in place of the mean.
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "weft/aggregate/aggregator.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

// A setting that a rule cannot go together with.
struct Excluded {
  const char* key;
  bool (*holds)(const Recipe& recipe);
  const char* remedy;
  const char* why;
};

constexpr Excluded kExcluded[] = {
    {"group.exchange", [](const Recipe& r) { return r.group.exchange != "exact"; },
     "set group.exchange = \"exact\"", "neighbours see each other's states, not all updates"},
    {"group.wire", [](const Recipe& r) { return r.group.wire != "f32"; },
     "set group.wire = \"f32\"", "roundings of single updates are not made up for"},
    {"group.hosts", [](const Recipe& r) { return r.group.hosts != "apart"; },
     "set group.hosts = \"apart\"", "a host that sums its members' updates hides them"},
    {"group.shares", [](const Recipe& r) { return r.group.shares != "equal"; },
     "set group.shares = \"equal\"", "each update counts as much as any other"},
    {"group.wait", [](const Recipe& r) { return r.group.wait != "all"; },
     "set group.wait = \"all\"", "the zeros of late members would count as updates"},
    {"group.on_split", [](const Recipe& r) { return r.group.on_split != "pause"; },
     "set group.on_split = \"pause\"", "branches are averaged, whoever trained them"},
    {"group.audit", [](const Recipe& r) { return r.group.audit; }, "set group.audit = false",
     "an audit compares sums"},
    {"local.steps", [](const Recipe& r) { return r.local.steps > 1; }, "set local.steps = 1",
     "what local steps have moved is summed"},
};

// The decay of auto.
constexpr double kAutoMomentum = 0.9;

const RecipeKey* key_named(std::string_view name) {
  for (const RecipeKey& key : recipe_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

}  // namespace

bool aggregates(const Recipe& recipe) {
  const Result<Aggregator> rule = Aggregator::parse(recipe.aggregate.rule);
  return rule.ok() && !rule->is_mean();
}

double aggregate_momentum(const Recipe& recipe) {
  const bool chosen = recipe.aggregate.member_momentum > 0 || recipe.aggregate.rule != kAutoRule;
  return chosen ? recipe.aggregate.member_momentum : kAutoMomentum;
}

static Status check_mean(const Recipe& recipe) {
  if (recipe.aggregate.liars > 0 && !gossips_robustly(recipe) && !mixes(recipe)) {
    return invalid_argument(fmt::format(
        "aggregate.liars: expected 0 with aggregate.rule = \"mean\", which one liar "
        "moves wherever it likes, got {}; set {}",
        recipe.aggregate.liars,
        gossips(recipe) ? "gossip.rule = \"nna\"" : "aggregate.rule, such as \"auto\""));
  }
  if (recipe.aggregate.member_momentum > 0) {
    return invalid_argument(fmt::format(
        "aggregate.member_momentum: expected 0 with aggregate.rule = \"mean\", where the "
        "optimizer's momentum does the same, got {}; set optimizer.momentum",
        recipe.aggregate.member_momentum));
  }
  return {};
}

Status check_aggregate(const Recipe& recipe) {
  const Result<Aggregator> rule = Aggregator::parse(recipe.aggregate.rule);
  if (!rule.ok()) return rule.status().with_context("aggregate.rule");
  const std::string text = rule->text();
  if (rule->is_mean()) return check_mean(recipe);
  for (const Excluded& each : kExcluded) {
    if (!each.holds(recipe)) continue;
    return invalid_argument(fmt::format("{}: {} cannot go with aggregate.rule = \"{}\": {}; {}",
                                        each.key, recipe_value(recipe, *key_named(each.key)), text,
                                        each.why, each.remedy));
  }
  const auto liars = static_cast<int>(recipe.aggregate.liars);
  const auto members = static_cast<int>(recipe.group.start_members);
  const Status enough = rule->check(members, liars);
  if (!enough.ok()) {
    return invalid_argument(fmt::format(
        "group.start_members: {}; set group.start_members to that, or aggregate.liars to less",
        enough.message()));
  }
  if (recipe.run.global_batch < members) {
    return invalid_argument(fmt::format(
        "run.global_batch: expected a sample for each of {} members with aggregate.rule = \"{}\", "
        "got {}; raise it",
        members, text, recipe.run.global_batch));
  }
  return {};
}

}  // namespace weft
