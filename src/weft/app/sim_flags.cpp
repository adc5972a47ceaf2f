#include <CLI/CLI.hpp>

#include "weft/app/flags/flag_checks.h"
#include "weft/app/model_commands.h"
#include "weft/app/sim_command.h"

namespace weft {

// What befalls the machines over time.
static void add_trace_flags(CLI::App& command, SimRequest& request) {
  command
      .add_option(
          "--churn", request.churn,
          "Peers leave and come: so often a second each, leave=RATE,join=RATE, or as a file "
          "says with lines PEER,SECONDS,leave or join.")
      ->option_text("RATES|FILE");
  command
      .add_option("--speeds", request.speeds,
                  "Samples that some peers compute in a virtual second: a file with lines "
                  "PEER,SAMPLES_PER_SECOND. --speed holds for the others.")
      ->option_text("FILE");
  command
      .add_option("--disrupt", request.disruptions,
                  "Methods of loose exchange: after a round some peers leave or lose their data, "
                  "drawn or those with the most neighbours, such as leave=hubs:10@20 or "
                  "data=random:5@20; may be repeated.")
      ->option_text("DISRUPTION")
      ->allow_extra_args(false);
}

void add_simulation_flags(CLI::App& command, SimRequest& request) {
  command.add_option("--peers", request.peers, "Peers that the first round waits for.")
      ->check(whole_number(1, 16384))
      ->capture_default_str();
  command
      .add_option("--rounds", request.rounds,
                  "Rounds that train; the same as --set run.steps=N times local.steps.")
      ->check(whole_number(1, 1'000'000'000));
  command
      .add_option("--speed", request.speed,
                  "Samples that a peer computes in a virtual second: one number for all; several "
                  "with commas, which the peers take in turn; or A..B, from which each draws.")
      ->option_text("LIST")
      ->capture_default_str();
  command
      .add_option("--mbit", request.megabits,
                  "Megabits a second of a peer's line, each way; 0: no limit.")
      ->option_text("LIST")
      ->capture_default_str();
  command
      .add_option("--ms", request.latency_ms,
                  "Milliseconds one way; between two peers the larger of theirs.")
      ->option_text("LIST")
      ->capture_default_str();
  command.add_option("--loss", request.loss, "Share of a peer's packets that are lost, 0 to 0.5.")
      ->option_text("LIST")
      ->capture_default_str();
  command
      .add_option("--crash", request.crashes,
                  "Peer PEER, from 0, or `any`, is killed at that virtual second, or at one drawn "
                  "from A..B; may be repeated.")
      ->option_text("PEER@SECONDS")
      ->allow_extra_args(false);
  command
      .add_option("--join", request.joins,
                  "One more peer joins at that virtual second, or at one drawn from A..B; may be "
                  "repeated.")
      ->option_text("SECONDS")
      ->allow_extra_args(false);
  add_trace_flags(command, request);
  command
      .add_option("--identity", request.identities,
                  "Gossip: a peer, the first one first, has the id that `weft id OUT` prints, and "
                  "with it the neighbours and the samples of that peer; may be repeated.")
      ->option_text("OUT")
      ->allow_extra_args(false);
  command
      .add_option("--attack", request.attack,
                  "What peers that lie send in place of their updates, such as sign_flip:scale=4 "
                  "or alie; needs --byzantine.")
      ->option_text("ATTACK");
  command
      .add_option("--byzantine", request.byzantine,
                  "How many of the peers lie, the last ones first; needs --attack.")
      ->check(whole_number(0, 16384));
  command
      .add_option("--threads", request.threads, "Compute threads; without it, one for each core.")
      ->check(whole_number(1, kThreadsMax));
  add_data_choice(command, request.data);
  command.add_option("--set", request.settings, "Set any key of the recipe; may be repeated.")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
}

CLI::App* add_sim(CLI::App& app, SimRequest& request) {
  CLI::App* sim = app.add_subcommand(
      "sim", "Try a recipe with many peers, lines and faults, in virtual time on this machine.");
  sim->add_option("recipe", request.recipe_path,
                  "A recipe: a TOML file, such as those in recipes/.")
      ->required();
  sim->add_option(
         "--seed", request.seed,
         "The simulation's seed: the same seed gives the same events. The recipe's own seed is "
         "--set run.seed=N.")
      ->check(whole_number(0, kNoLimit))
      ->capture_default_str();
  sim->add_option("--replay", request.replays,
                  "The folder of a member of a run that took place: the peers, their speeds, joins "
                  "and losses are those of its events; may be repeated, once for each member.")
      ->option_text("OUT")
      ->allow_extra_args(false);
  sim->add_flag("--json", request.json,
                "Write events, and as the last line one object with the result.");
  add_simulation_flags(*sim, request);
  return sim;
}

}  // namespace weft
