// `weft data look` and `weft new`, and `weft run` on data instead of a recipe.
//
// Threads: the main thread. Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <string>

#include "weft/app/member/peer_command.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/base/time.h"

namespace CLI {
class App;
}

namespace weft {

struct OwnDataRequest {
  std::string path;
  std::string out;     // the recipe; empty: the name of the data with .toml
  std::string target;  // the column of a table to learn; empty: the last one
  bool force = false;  // replace `out`
  bool json = false;
};

// `app` gets `new`, `data` gets `look`.
void add_own_data_commands(CLI::App& app, CLI::App& data, OwnDataRequest& request, ExitCode& code);

// As run_command(). Where request.recipe_path is a folder, a table or a text, it first writes a
// recipe for that data into the folder of the run, unless one exists already.
ExitCode run_recipe_or_data(RunRequest request, TimePoint started);

}  // namespace weft
