// What recipes say of methods of loose exchange.
#include <string>

#include <fmt/format.h>

#include "weft/codec/codec.h"
#include "weft/data/partition.h"
#include "weft/mix/mix_method.h"
#include "weft/train/recipe/recipe.h"

namespace weft {
namespace {

Status check_partition(const Recipe& recipe) {
  const Result<Partition> partition = Partition::parse(recipe.data.partition);
  if (!partition.ok()) return partition.status().with_context("data.partition");
  if (partition->is_shared() || mixes(recipe)) return {};
  return invalid_argument(
      fmt::format("data.partition: expected \"shared\" with group.exchange = \"{}\", where members "
                  "draw from all samples, got \"{}\"; set group.exchange = \"mix\"",
                  recipe.group.exchange, recipe.data.partition));
}

// [mix] says nothing where it is not used, so that nobody believes that it does.
Status check_unused(const Recipe& recipe) {
  for (const RecipeKey& key : recipe_keys()) {
    if (!key.name.starts_with("mix.")) continue;
    if (recipe_value(recipe, key) == recipe_value(Recipe(), key)) continue;
    return invalid_argument(
        fmt::format("{}: expected none with group.exchange = \"{}\", got {}; set "
                    "group.exchange = \"mix\"",
                    key.name, recipe.group.exchange, recipe_value(recipe, key)));
  }
  return {};
}

}  // namespace

bool mixes(const Recipe& recipe) { return recipe.group.exchange == "mix"; }

Result<MixMethod> mix_method(const Recipe& recipe) {
  const Recipe::Mix& mix = recipe.mix;
  return MixMethod::parse({.method = mix.method,
                           .plan = mix.plan,
                           .trigger = mix.trigger,
                           .combine = mix.combine,
                           .outer = mix.outer,
                           .local = mix.local,
                           .mixes = static_cast<std::uint32_t>(mix.mixes),
                           .part = mix.part,
                           .liars = static_cast<int>(recipe.aggregate.liars),
                           .seed = static_cast<std::uint64_t>(recipe.run.seed)});
}

// Deltas for a server may be encoded; models that are mixed may not: what a codec drops of a model
// is no small part of a step.
static Status check_codec(const Recipe& recipe, const MixMethod& method) {
  WEFT_TRY_ASSIGN(const Codec codec, Codec::parse(recipe.group.wire));
  if (codec.is_exact()) return {};
  const std::string text = codec.text();
  if (method.plan.style() != MixStyle::kServer) {
    return invalid_argument(
        fmt::format("group.wire: expected \"f32\" with mix.plan = \"{}\", where members send whole "
                    "models, got \"{}\"",
                    method.plan.text(), text));
  }
  if (codec.sum() != CodecSum::kSum) {
    return invalid_argument(
        fmt::format("group.wire: expected a codec whose values are added up with group.exchange = "
                    "\"mix\", such as ef_sign, got \"{}\", whose signs are counted",
                    text));
  }
  return {};
}

Status check_mix(const Recipe& recipe) {
  WEFT_TRY(check_partition(recipe));
  if (!mixes(recipe)) return check_unused(recipe);
  const auto refuse = [](const char* key, const char* expected, const std::string& got) {
    return invalid_argument(
        fmt::format("{}: expected {} with group.exchange = \"mix\", got {}", key, expected, got));
  };
  WEFT_TRY_ASSIGN(const MixMethod method, mix_method(recipe));
  if (recipe.aggregate.liars > 0 && !method.combine.counts_liars()) {
    return refuse("aggregate.liars",
                  "0 with such a mix.combine, which one liar moves wherever it likes,",
                  std::to_string(recipe.aggregate.liars));
  }
  if (method.plan.takes_gradients() && recipe.local.steps != 1) {
    return refuse("local.steps", "1 with a mix.plan whose members return gradients",
                  std::to_string(recipe.local.steps));
  }
  if (method.local.gives_numbers() && recipe.mix.start != "same") {
    return refuse("mix.start", "\"same\" with a mix.local whose members hold one model,",
                  recipe.mix.start);
  }
  const Recipe::Group& group = recipe.group;
  if (group.audit) return refuse("group.audit", "false", "true");
  if (group.wait != "all") return refuse("group.wait", "\"all\"", group.wait);
  if (group.shares != "equal") return refuse("group.shares", "\"equal\"", group.shares);
  WEFT_TRY(check_codec(recipe, method));
  if (group.on_split != "pause") return refuse("group.on_split", "\"pause\"", group.on_split);
  if (recipe.local.overlap) return refuse("local.overlap", "false", "true");
  if (recipe.run.precision == "f16") return refuse("run.precision", "f32 or bf16", "f16");
  if (recipe.aggregate.rule != "mean") {
    return refuse("aggregate.rule", "\"mean\" (mix.combine names another)", recipe.aggregate.rule);
  }
  return {};
}

}  // namespace weft
