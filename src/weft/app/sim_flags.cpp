#include <CLI/CLI.hpp>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/model_commands.h"
#include "weft/app/sim_command.h"

namespace weft {

CLI::App* add_sim(CLI::App& app, SimRequest& request) {
  CLI::App* sim = app.add_subcommand(
      "sim", "Try a recipe with many peers, lines and faults, in virtual time on this machine.");
  sim->add_option("recipe", request.recipe_path,
                  "A recipe: a TOML file, such as those in recipes/.")
      ->required();
  sim->add_option("--peers", request.peers, "Peers that the first round waits for.")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  sim->add_option(
         "--seed", request.seed,
         "The simulation's seed: the same seed gives the same events. The recipe's own seed is "
         "--set run.seed=N.")
      ->check(whole_number(0, kNoLimit))
      ->capture_default_str();
  sim->add_option("--rounds", request.rounds,
                  "Rounds that train; the same as --set run.steps=N times local.steps.")
      ->check(whole_number(1, 1'000'000'000));
  sim->add_option("--speed", request.speed,
                  "Samples that a peer computes in a virtual second: one number for all; several "
                  "with commas, which the peers take in turn; or A..B, from which each draws.")
      ->option_text("LIST")
      ->capture_default_str();
  sim->add_option("--mbit", request.megabits,
                  "Megabits a second of a peer's line, each way; 0: no limit.")
      ->option_text("LIST")
      ->capture_default_str();
  sim->add_option("--ms", request.latency_ms,
                  "Milliseconds one way; between two peers the larger of theirs.")
      ->option_text("LIST")
      ->capture_default_str();
  sim->add_option("--loss", request.loss, "Share of a peer's packets that are lost, 0 to 0.5.")
      ->option_text("LIST")
      ->capture_default_str();
  sim->add_option("--crash", request.crashes,
                  "Peer PEER, from 0, or `any`, is killed at that virtual second, or at one drawn "
                  "from A..B; may be repeated.")
      ->option_text("PEER@SECONDS")
      ->allow_extra_args(false);
  sim->add_option("--join", request.joins,
                  "One more peer joins at that virtual second, or at one drawn from A..B; may be "
                  "repeated.")
      ->option_text("SECONDS")
      ->allow_extra_args(false);
  sim->add_option("--identity", request.identities,
                  "Gossip: a peer, the first one first, has the id that `weft id OUT` prints, and "
                  "with it the neighbours and the samples of that peer; may be repeated.")
      ->option_text("OUT")
      ->allow_extra_args(false);
  sim->add_option("--threads", request.threads, "Compute threads; without it, one for each core.")
      ->check(whole_number(1, kThreadsMax));
  sim->add_flag("--json", request.json,
                "Write events, and as the last line one object with the result.");
  add_data_choice(*sim, request.data);
  sim->add_option("--set", request.settings, "Set any key of the recipe; may be repeated.")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  return sim;
}

}  // namespace weft
