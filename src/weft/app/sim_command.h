// `weft sim`: a recipe's whole run, by many peers in virtual time, in this process.
//
// Where it stands: main -> here -> sim/training_world.h. Threads: the main thread.
// Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft {

struct SimRequest {
  std::string recipe_path;
  int peers = 4;
  std::uint64_t seed = 1;  // of the simulation; the recipe has its own
  std::optional<std::int64_t> rounds;
  // Each a sim::Spread.
  std::string speed = "1000";
  std::string megabits = "1000";
  std::string latency_ms = "1";
  std::string loss = "0";
  std::vector<std::string> crashes;     // PEER@SECONDS
  std::vector<std::string> joins;       // SECONDS
  std::vector<std::string> identities;  // OUT of the first peers
  std::optional<int> threads;
  bool json = false;
  std::vector<std::string> settings;
  DataChoice data;
};

// Adds `weft sim` to `app`.
CLI::App* add_sim(CLI::App& app, SimRequest& request);
ExitCode sim_command(const SimRequest& request);

}  // namespace weft
