// compare_plan: which runs a comparison consists of, before any of them begins.
//
// Where it stands: compare_command.h -> here -> compare/, program/, sim_command.h. Threads: pure
// functions, which read the recipes' files and the environment. Fails: plan_of() with
// kInvalidArgument for flags, and as simulated_recipe() where every contender is refused.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "weft/app/compare/compared_run.h"
#include "weft/app/compare/figures.h"
#include "weft/app/compare_command.h"
#include "weft/app/program/program_run.h"
#include "weft/app/sim_command.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/base/status.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

// One contender with one seed.
struct PlannedRun {
  std::size_t entrant = 0;
  // Either a simulation of a recipe, or a program.
  SimRequest sim;
  Recipe recipe;
  std::optional<ProgramRun> program;
  ComparedRun result;  // its key, contender and seed
};

struct ComparePlan {
  Comparison comparison;
  std::vector<PlannedRun> runs;  // seed by seed, so that all contenders are seen early
  std::optional<ExitCode> first_problem;
};

// A contender whose recipe is refused has the reason and no runs; the others are planned.
Result<ComparePlan> plan_of(const CompareRequest& request);

// No run of this contender can begin.
void refuse(ComparePlan& plan, std::size_t entrant, const Status& status);

}  // namespace weft
