#include "weft/app/compare/run_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/bytes.h"
#include "weft/base/hash.h"
#include "weft/base/version.h"

namespace weft {
namespace {

constexpr int kKeyFormat = 1;

// Lengths stand before texts, so that no two lists have one hash.
std::string with_length(const std::string& text) { return fmt::format("{}:{}", text.size(), text); }

}  // namespace

std::string run_key(const Recipe& recipe, const std::vector<NamedText>& options) {
  std::string all = fmt::format("weft compare {} {}\n", kKeyFormat, version());
  all += with_length(canonical_text(recipe));
  for (const NamedText& option : options)
    all += with_length(option.name) + with_length(option.text);
  return to_hex(sha256(as_bytes(all)));
}

std::string add_evaluations(Recipe& recipe, std::int64_t evaluations) {
  const bool ended_without = !recipe.run.evaluate;
  recipe.run.evaluate = true;
  std::string end = ended_without ? "run.evaluate set to true" : "";
  if (recipe.run.evaluate_every_steps > 0 || evaluations <= 1) return end;
  const std::int64_t each = std::max<std::int64_t>(1, recipe.local.steps);
  const std::int64_t rounds = std::max<std::int64_t>(1, recipe.run.steps / each);
  Recipe measured = recipe;
  measured.run.evaluate_every_steps = std::max<std::int64_t>(1, rounds / evaluations) * each;
  const std::string join = end.empty() ? "" : end + "; ";
  if (gossips(recipe)) {
    return join + "measured at the end only, because peers that gossip have no common model before";
  }
  if (!check_recipe(measured).ok()) {
    return join +
           "measured at the end only, because its recipe permits no measurement during a run";
  }
  recipe = measured;
  return fmt::format(
      "{}measured every {} steps (run.evaluate_every_steps, which the recipe leaves "
      "at 0)",
      join, recipe.run.evaluate_every_steps);
}

std::vector<NamedText> recipe_texts(const Recipe& recipe) {
  std::vector<NamedText> out;
  for (const RecipeKey& key : recipe_keys()) {
    if (key.name == "run.seed") continue;
    out.push_back({std::string(key.name), recipe_value(recipe, key)});
  }
  return out;
}

double planned_samples(const Recipe& recipe) {
  return static_cast<double>(recipe.run.steps) * static_cast<double>(recipe.run.global_batch);
}

}  // namespace weft
