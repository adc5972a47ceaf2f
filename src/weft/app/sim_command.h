// `weft sim`: a recipe's whole run, by many peers in virtual time, in this process.
//
// Where it stands: main -> here -> sim/training_world.h. Threads: the main thread.
// Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/base/status.h"
#include "weft/sim/world.h"
#include "weft/train/recipe/recipe.h"

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
  std::vector<std::string> crashes;  // PEER@SECONDS
  std::vector<std::string> joins;    // SECONDS
  std::string churn;                 // "leave=RATE,join=RATE", or a file
  std::string speeds;                // a file
  std::vector<std::string> replays;  // OUT of the members of a run that took place
  std::vector<sim::MachineSpeed> replayed_speeds;
  std::vector<std::string> disruptions;  // leave=hubs:10@20
  std::vector<std::string> identities;   // OUT of the first peers
  std::string attack;                    // of the last `byzantine` of the first peers
  int byzantine = 0;
  std::optional<int> threads;
  bool json = false;
  std::vector<std::string> settings;
  DataChoice data;
};

// Adds `weft sim` to `app`.
CLI::App* add_sim(CLI::App& app, SimRequest& request);
ExitCode sim_command(const SimRequest& request);

// The flags that say what is simulated, for each command that simulates.
void add_simulation_flags(CLI::App& command, SimRequest& request);
// kInvalidArgument for flags whose values are not as expected.
Status check_simulation_flags(const SimRequest& request);
// The recipe that the request names, with its settings and rounds.
Result<Recipe> simulated_recipe(const SimRequest& request);
// A world of that recipe, which may take seconds to make. Fails as sim::make_world(), and with
// kInvalidArgument for flags and where the machine has too little memory for the peers.
Result<std::unique_ptr<sim::World>> simulated_world(const SimRequest& request, const Recipe& recipe,
                                                    const sim::WorldEvents& events);

}  // namespace weft
