#include "weft/app/compare_plan.h"

#include <algorithm>
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

// What --set gives to the contenders: keys of [program] to programs, all others to Weft's recipes;
// everything to all where there is one kind only, so that what nobody can take is refused.
struct CommonSettings {
  std::vector<std::string> programs;
  std::vector<std::string> recipes;

  CommonSettings(const std::vector<std::string>& all, bool has_programs, bool has_recipes) {
    for (const std::string& text : all) {
      const bool is_programs = text.starts_with("program.");
      if (is_programs || !has_recipes) programs.push_back(text);
      if (!is_programs || !has_programs) recipes.push_back(text);
    }
  }
};

// The contenders' recipes that name programs; nothing for Weft's own.
using ProgramRecipes = std::vector<std::optional<ProgramRecipe>>;

class ComparePlanner {
 public:
  ComparePlanner(ComparePlan& plan, const CompareRequest& request, ProgramRecipes programs)
      : plan_(plan),
        request_(request),
        programs_(std::move(programs)),
        common_(request.sim.settings, has(true), has(false)) {}

  Status add(std::size_t index, std::int64_t seed) {
    PlannedRun run;
    run.entrant = index;
    run.result.contender = plan_.comparison.entrants[index].contender.name;
    run.result.seed = seed;
    WEFT_TRY(programs_[index] ? plan_program(run, *programs_[index]) : plan_simulation(run));
    plan_.runs.push_back(std::move(run));
    return {};
  }

 private:
  bool has(bool programs) const {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      const bool refused = !plan_.comparison.entrants[i].refusal.empty();
      if (!refused && programs_[i].has_value() == programs) return true;
    }
    return false;
  }

  Status plan_simulation(PlannedRun& run) {
    Entrant& entrant = plan_.comparison.entrants[run.entrant];
    const Contender& contender = entrant.contender;
    run.sim = request_.sim;
    run.sim.recipe_path = contender.recipe_path;
    run.sim.settings = common_.recipes;
    run.sim.settings.insert(run.sim.settings.end(), contender.settings.begin(),
                            contender.settings.end());
    run.sim.settings.push_back(fmt::format("run.seed={}", run.result.seed));
    run.sim.seed = static_cast<std::uint64_t>(run.result.seed);
    WEFT_TRY_ASSIGN(run.recipe, simulated_recipe(run.sim));
    entrant.note = add_evaluations(run.recipe, request_.evaluations);
    entrant.recipe = recipe_texts(run.recipe);
    run.result.key = run_key(run.recipe, plan_.comparison.options);
    return {};
  }

  Status plan_program(PlannedRun& run, const ProgramRecipe& recipe) {
    Entrant& entrant = plan_.comparison.entrants[run.entrant];
    const Contender& contender = entrant.contender;
    std::vector<std::string> settings = common_.programs;
    settings.insert(settings.end(), contender.settings.begin(), contender.settings.end());
    ProgramRun program{recipe, contender.recipe_path, run.result.seed, request_.sim.peers};
    WEFT_TRY_ASSIGN(program.recipe, configured_program(recipe, settings, request_.sim.rounds));
    WEFT_TRY_ASSIGN(run.result.key, program_key(program));
    entrant.note = program_note();
    entrant.recipe.clear();
    for (auto& [name, text] : program_texts(program.recipe)) entrant.recipe.push_back({name, text});
    run.program = std::move(program);
    return {};
  }

  // What a reader should know of the numbers of a program.
  std::string program_note() const {
    std::string out =
        "a program of its own, not simulated: its rounds, seconds, bytes and samples are as it "
        "counts them";
    std::string without;
    for (const std::string& text : request_.sim.settings) {
      const auto& taken = common_.programs;
      if (std::find(taken.begin(), taken.end(), text) != taken.end()) continue;
      without += (without.empty() ? "" : " ") + text;
    }
    return without.empty() ? out : out + "; without --set " + without;
  }

  ComparePlan& plan_;
  const CompareRequest& request_;
  const ProgramRecipes programs_;
  const CommonSettings common_;
};

// Refuses the contenders whose files cannot be read; the last reason.
ProgramRecipes read_programs(ComparePlan& plan, Status& last) {
  ProgramRecipes out;
  for (std::size_t i = 0; i < plan.comparison.entrants.size(); ++i) {
    Result<std::optional<ProgramRecipe>> read =
        load_program_recipe(plan.comparison.entrants[i].contender.recipe_path);
    if (!read.ok()) {
      refuse(plan, i, read.status());
      last = read.status();
    }
    out.push_back(read.ok() ? std::move(read).value() : std::nullopt);
  }
  return out;
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
  ProgramRecipes programs = read_programs(plan, last);
  ComparePlanner planner(plan, request, std::move(programs));
  for (const std::int64_t seed : plan.comparison.seeds) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (!plan.comparison.entrants[i].refusal.empty()) continue;
      const Status added = planner.add(i, seed);
      if (added.ok()) continue;
      refuse(plan, i, added);
      last = added;
    }
  }
  if (plan.runs.empty()) return last;  // there is nothing to compare with
  return plan;
}

}  // namespace weft
