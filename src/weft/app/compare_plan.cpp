#include "weft/app/compare_plan.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "weft/app/compare/contender.h"
#include "weft/app/compare/run_plan.h"

namespace weft {
namespace {

std::string joined_texts(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : " ") + text;
  return out;
}

std::vector<NamedText> simulation_texts(const SimRequest& sim) {
  std::vector<NamedText> out = {{"peers", fmt::format("{}", sim.peers)},
                                {"samples per second of a peer", sim.speed},
                                {"Mbit/s", sim.megabits},
                                {"latency (ms)", sim.latency_ms},
                                {"loss of packets", sim.loss}};
  const NamedText rest[] = {{"crashes", joined_texts(sim.crashes)},
                            {"joins", joined_texts(sim.joins)},
                            {"churn", sim.churn},
                            {"speeds", sim.speeds},
                            {"disruptions", joined_texts(sim.disruptions)},
                            {"identities", joined_texts(sim.identities)},
                            {"attack", sim.attack},
                            {"liars", sim.byzantine > 0 ? std::to_string(sim.byzantine) : ""},
                            {"data", sim.data.data},
                            {"tokenizer", sim.data.tokenizer}};
  for (const NamedText& text : rest) {
    if (!text.text.empty()) out.push_back(text);
  }
  return out;
}

SimRequest sim_of(const CompareRequest& request, const Contender& contender, std::int64_t seed) {
  SimRequest sim = request.sim;
  sim.recipe_path = contender.recipe_path;
  sim.settings.insert(sim.settings.end(), contender.settings.begin(), contender.settings.end());
  sim.settings.push_back(fmt::format("run.seed={}", seed));
  sim.seed = static_cast<std::uint64_t>(seed);
  return sim;
}

Status plan_run(ComparePlan& plan, const CompareRequest& request, std::size_t index,
                std::int64_t seed) {
  Entrant& entrant = plan.comparison.entrants[index];
  PlannedRun run;
  run.entrant = index;
  run.sim = sim_of(request, entrant.contender, seed);
  WEFT_TRY_ASSIGN(run.recipe, simulated_recipe(run.sim));
  entrant.note = add_evaluations(run.recipe, request.evaluations);
  entrant.recipe = recipe_texts(run.recipe);
  run.result.key = run_key(run.recipe, plan.comparison.options);
  run.result.contender = entrant.contender.name;
  run.result.seed = seed;
  plan.runs.push_back(std::move(run));
  return {};
}

}  // namespace

void refuse(ComparePlan& plan, std::size_t entrant, const Status& status) {
  plan.comparison.entrants[entrant].refusal = status.message();
  if (!plan.first_problem) plan.first_problem = exit_code_of(status);
}

Result<ComparePlan> plan_of(const CompareRequest& request) {
  ComparePlan plan;
  WEFT_TRY(check_simulation_flags(request.sim));
  WEFT_TRY_ASSIGN(const std::vector<Contender> contenders, contenders_of(request.contenders));
  WEFT_TRY_ASSIGN(plan.comparison.seeds, compare_seeds(request.seeds));
  plan.comparison.options = simulation_texts(request.sim);
  plan.comparison.command = request.command;
  plan.comparison.target = request.target;
  if (!request.quality.empty()) {
    plan.comparison.quality = request.quality == "loss" ? Quality::kLoss : Quality::kAccuracy;
  }
  for (const Contender& contender : contenders) {
    plan.comparison.entrants.push_back({contender, {}, "", {}, ""});
  }
  Status last;
  for (const std::int64_t seed : plan.comparison.seeds) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (!plan.comparison.entrants[i].refusal.empty()) continue;
      const Status added = plan_run(plan, request, i, seed);
      if (added.ok()) continue;
      refuse(plan, i, added);
      last = added;
    }
  }
  if (plan.runs.empty()) return last;  // there is nothing to compare with
  return plan;
}

}  // namespace weft
