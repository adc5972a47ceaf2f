#include <CLI/CLI.hpp>

#include "weft/app/compare_command.h"
#include "weft/app/flags/flag_checks.h"

namespace weft {

CLI::App* add_compare(CLI::App& app, CompareRequest& request) {
  CLI::App* compare = app.add_subcommand(
      "compare",
      "Train recipes with several seeds, as `weft sim` does or by programs of your own, and "
      "write tables and plots of them.");
  compare
      ->add_option(
          "recipe", request.contenders.recipes,
          "Recipes: TOML files, such as those in recipes/. One with [program] starts the program "
          "that it names, on this machine and with your rights (docs/compare.md).")
      ->expected(0, -1);
  compare
      ->add_option("--variant", request.contenders.variants,
                   "A recipe with other settings, as \"NAME: RECIPE key=value ...\"; may be "
                   "repeated.")
      ->option_text("TEXT")
      ->allow_extra_args(false);
  compare
      ->add_option("--vary", request.contenders.varied,
                   "Compare every recipe with each of these values, as key=value,value,...; may be "
                   "repeated for all combinations.")
      ->option_text("KEY=VALUES")
      ->allow_extra_args(false);
  compare
      ->add_option("--suite", request.contenders.suite,
                   "field: compare every method of `weft methods mix.method` with the recipe.")
      ->option_text("NAME");
  compare
      ->add_option("--seeds", request.seeds,
                   "How many seeds, from 1 on, or FIRST..LAST. Each is the recipe's seed and that "
                   "of the simulation.")
      ->option_text("SEEDS")
      ->capture_default_str();
  compare->add_option("--out", request.out, "Folder for the results and the report.")
      ->option_text("DIR")
      ->capture_default_str();
  compare
      ->add_option("--evaluations", request.evaluations,
                   "Measurements of the test set during a run, where the recipe does not set "
                   "run.evaluate_every_steps; 1: only at the end.")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  compare
      ->add_option("--quality", request.quality,
                   "What is compared on the test set; by default accuracy, where all have it.")
      ->check(CLI::IsMember({"accuracy", "loss"}));
  compare
      ->add_option("--target", request.target,
                   "Quality to reach, such as 0.9 for an accuracy of 90 %; by default 98 % of the "
                   "best accuracy, or 1.1 times the best loss.")
      ->check(any_number(0, 1e9));
  compare->add_flag("--json", request.sim.json,
                    "Write one JSON object for each run, and as the last line one with the "
                    "results.");
  add_simulation_flags(*compare, request.sim);
  return compare;
}

}  // namespace weft
