// program_run: one run of a recipe with [program] in a comparison, from its words to its result.
//
// The program gets a fresh folder, {out}, and writes what it measures into {results} there
// (program_results.h). Everything that it prints goes into {out}/output.txt, the last 64 KiB.
//
// Where it stands: compare_plan.h, compare_command.h -> here -> program_process.h.
// Threads: the main thread. Fails: kInvalidArgument for a command that asks for what there is not;
// kAborted if a person interrupts. What goes wrong while the program runs is the result's fault.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/compare/compared_run.h"
#include "weft/base/status.h"
#include "weft/train/recipe/program_recipe.h"

namespace weft {

struct ProgramRun {
  ProgramRecipe recipe;
  std::string recipe_path;
  std::int64_t seed = 1;
  int peers = 1;
};

// The recipe with the settings of --set and a contender ("key=value"), and the rounds of --rounds.
Result<ProgramRecipe> configured_program(ProgramRecipe recipe,
                                         const std::vector<std::string>& settings,
                                         std::optional<std::int64_t> rounds);

// The command of `run` for the folder `out`; kInvalidArgument unless it has {seed}, and {results}
// or {out}, and no name that there is not.
Result<std::vector<std::string>> program_arguments(const ProgramRun& run, const std::string& out);

// Hexadecimal hash of the command and the contents of the files that it names, for the result.
Result<std::string> program_key(const ProgramRun& run);

// `planned` has its key, contender and seed; the rest is filled in. `out` is an empty folder.
Result<ComparedRun> run_program_contender(const ProgramRun& run, const std::string& out,
                                          const std::function<bool()>& stop_asked,
                                          ComparedRun planned);

}  // namespace weft
