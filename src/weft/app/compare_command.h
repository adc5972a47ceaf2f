// `weft compare`: recipes and variants of them, each with several seeds, in the simulator; tables
// and plots of the results.
//
// Where it stands: main -> here -> compare/, sim_command.h. Threads: the main thread.
// Fails: the reason goes to standard error, the code is exit_code.h's. A contender that is refused
// or does not come to its end has a row with the reason, and the others go on; the exit code is
// then that of the first such contender.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/app/compare/contender.h"
#include "weft/app/sim_command.h"
#include "weft/app/terminal/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

struct CompareRequest {
  ContenderTexts contenders;
  std::string seeds = "3";
  std::string out = "weft-compare";
  std::int64_t evaluations = 10;
  std::string quality;           // accuracy, loss; empty: accuracy, where all have it
  std::optional<double> target;  // the quality to reach, as a share or a loss
  SimRequest sim;                // for every run, but for recipe and seed
  std::string command;           // the whole command line, for the report
};

// Adds `weft compare` to `app`.
CLI::App* add_compare(CLI::App& app, CompareRequest& request);
ExitCode compare_command(const CompareRequest& request);

}  // namespace weft
