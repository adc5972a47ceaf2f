#include "weft/app/peer_command.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "weft/app/environment.h"
#include "weft/app/interrupt.h"
#include "weft/app/local_peers.h"
#include "weft/app/out_folder.h"
#include "weft/app/terminal.h"
#include "weft/base/parallel.h"
#include "weft/collective/swarm.h"
#include "weft/train/run_loop.h"
#include "weft/train/wiring.h"

namespace weft {
namespace {

constexpr Duration kFetchRecipeLimit = std::chrono::seconds(20);
constexpr Duration kLocalPeersLimit = std::chrono::seconds(30);

// What a peer needs whether it founds or joins. Order matters: later members use earlier ones.
struct Session {
  SystemClock clock;
  TimePoint started;
  std::string run_id;
  std::string role;
  std::optional<OutFolder> out;
  std::optional<Terminal> terminal;
  std::unique_ptr<EventLog> log;
  std::unique_ptr<Trainer> trainer;
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<LocalPeers> local_peers;
};

Result<Recipe> recipe_of(const RunRequest& request) {
  WEFT_TRY_ASSIGN(Recipe recipe, load_recipe(request.recipe_path));
  WEFT_TRY_ASSIGN(const std::vector<RecipeSetting> variables,
                  settings_of_environment(weft_variables()));
  for (const RecipeSetting& setting : variables) WEFT_TRY(apply_setting(recipe, setting));
  for (const std::string& text : request.settings) {
    WEFT_TRY_ASSIGN(const RecipeSetting setting, parse_setting(text));
    WEFT_TRY(apply_setting(recipe, setting));
  }
  const auto flag = [&](const char* key, std::int64_t value, const char* name) {
    return apply_setting(recipe, {key, std::to_string(value), name});
  };
  if (request.steps) WEFT_TRY(flag("run.steps", *request.steps, "--steps"));
  if (request.seed) WEFT_TRY(flag("run.seed", *request.seed, "--seed"));
  if (request.peers) WEFT_TRY(flag("group.start_members", *request.peers, "--peers"));
  WEFT_TRY(check_recipe(recipe));
  return recipe;
}

Status open_output(Session& session, const std::string& out, const std::string& default_out,
                   bool json) {
  WEFT_TRY_ASSIGN(OutFolder folder,
                  out.empty() ? OutFolder::open_free(default_out) : OutFolder::open(out));
  session.out.emplace(std::move(folder));
  session.terminal.emplace(Terminal::to_standard_output(output_mode(json), session.clock));
  WEFT_TRY_ASSIGN(session.log,
                  EventLog::open(session.out->events_path(), session.clock,
                                 [&](const Event& event) { session.terminal->hear(event); }));
  return {};
}

Result<PeerSettings> peer_settings(const Session& session, const std::string& listen,
                                   bool map_port) {
  PeerSettings settings;
  WEFT_TRY_ASSIGN(settings.identity, Identity::load_or_create(session.out->identity_path()));
  settings.listen = listen;
  settings.map_port = map_port;
  settings.incarnation = static_cast<std::uint64_t>(session.clock.unix_time_s());
  return settings;
}

void tell_started(Session& session) {
  const Recipe& recipe = session.trainer->recipe();
  session.log->append(Event("started")
                          .with("run_id", session.run_id)
                          .with("peer_id", session.exchange->self().to_string())
                          .with("peer", session.exchange->self().short_name())
                          .with("role", session.role)
                          .with("model", recipe.model.name)
                          .with("parameters", session.trainer->layout().num_parameters())
                          .with("data", recipe.data.name)
                          .with("train_samples", session.trainer->train_samples())
                          .with("steps", recipe.run.steps)
                          .with("global_batch", recipe.run.global_batch)
                          .with("threads", thread_count()));
}

std::string test_text(const Summary& summary) {
  if (summary.test_bits_per_character.has_value()) {
    return fmt::format(", test {:.4f} bits a character", *summary.test_bits_per_character);
  }
  if (!summary.test_accuracy.has_value()) return "";
  return fmt::format(", test accuracy {:.2f} %", 100.0 * *summary.test_accuracy);
}

void say_summary(Terminal& terminal, const Summary& summary, const std::string& out) {
  terminal.say(fmt::format(
      "{} after {} steps in {:.1f} s: loss {:.4f}{}, {:.0f} samples/s, {:.1f} s lost, state {}",
      to_string(summary.end), summary.steps, summary.seconds, summary.final_loss,
      test_text(summary), summary.samples_per_second, summary.seconds_lost,
      summary.state_hash.substr(0, 16)));
  terminal.say(fmt::format("files: {}/summary.json, events.jsonl, checkpoints/", out));
}

ExitCode end_code(const RunResult& result) {
  switch (result.summary.end) {
    case RunEnd::kFinished:
      return ExitCode::kOk;
    case RunEnd::kLeft:
      return ExitCode::kInterrupted;
    case RunEnd::kQuorumLost:
      return ExitCode::kQuorumLost;
    case RunEnd::kFailed:
      return exit_code_of(result.status);
  }
  return ExitCode::kFailure;
}

// The run itself, from the first turn to the files at the end.
ExitCode take_part(Session& session, bool founder) {
  tell_started(session);
  Checkpoints checkpoints(session.out->checkpoints_path(),
                          session.trainer->recipe().checkpoint.keep, session.run_id);
  RunLoopOptions options;
  options.run_id = session.run_id;
  options.started = session.started;
  options.founder = founder;
  options.stop_asked = interrupted;
  RunLoop loop(*session.trainer, *session.exchange, *session.log, &checkpoints, session.clock,
               options);
  const RunResult result = loop.run();
  session.exchange.reset();
  const Status written = write_summary(session.out->summary_path(), result.summary);
  session.log->append(summary_event(result.summary));
  session.terminal->finish();
  say_summary(*session.terminal, result.summary, session.out->path());
  if (session.local_peers != nullptr) {
    session.local_peers->wait(kLocalPeersLimit, session.clock, *session.log);
  }
  if (!result.status.ok()) {
    report(result.status);
  } else if (!written.ok()) {
    return report(written);
  }
  return end_code(result);
}

Status tell_ticket(Session& session, std::string& ticket) {
  const std::int64_t valid_h = session.trainer->recipe().group.ticket_valid_h;
  ticket = session.exchange->ticket(std::chrono::hours(valid_h));
  session.log->append(Event("ticket")
                          .with("ticket", ticket)
                          .with("run_id", session.run_id)
                          .with("valid_h", valid_h));
  return {};
}

// Loads the newest checkpoint, or makes room for new ones. The step to go on from.
Result<std::int64_t> resume_or_begin(Session& session, bool resume) {
  if (!resume) {
    WEFT_TRY_ASSIGN(const std::string aside, session.out->set_checkpoints_aside());
    return std::int64_t{0};
  }
  const Checkpoints checkpoints(session.out->checkpoints_path(), 1, "");
  WEFT_TRY_ASSIGN(const auto loaded, checkpoints.load_newest(*session.trainer));
  return loaded.has_value() ? loaded->step : std::int64_t{0};
}

Status found_group(Session& session, const RunRequest& request, std::int64_t step) {
  const Trainer& trainer = *session.trainer;
  WEFT_TRY_ASSIGN(const PeerSettings settings,
                  peer_settings(session, request.listen, request.map_port));
  SwarmOptions options = swarm_options(trainer.recipe(), trainer.layout(), settings);
  Hash256 nonce{};
  random_bytes(nonce);
  options.membership.run = make_run_id(recipe_hash(trainer.recipe()), nonce);
  random_bytes(options.membership.invitation_key);
  options.resume_round = Round(static_cast<std::uint64_t>(step));
  options.membership.founded_at = options.resume_round;
  session.run_id = to_hex(options.membership.run);
  session.role = step > 0 ? "resumed" : "founder";
  WEFT_TRY_ASSIGN(auto swarm, Swarm::found(std::move(options)));
  session.exchange = make_swarm_exchange(std::move(swarm));
  return {};
}

Status prepare_run(Session& session, const RunRequest& request) {
  WEFT_TRY_ASSIGN(const Recipe recipe, recipe_of(request));
  const std::string stem = std::filesystem::path(request.recipe_path).stem().string();
  WEFT_TRY(open_output(session, request.out, "weft-runs/" + stem, request.json));
  const int peers = request.peers.value_or(1);
  const int threads = request.threads.value_or(threads_for(peers));
  set_thread_count(threads);
  WEFT_TRY_ASSIGN(session.trainer, Trainer::make(recipe, data_places(), session.clock));
  WEFT_TRY_ASSIGN(const std::int64_t step, resume_or_begin(session, request.resume));
  WEFT_TRY(found_group(session, request, step));
  std::string ticket;
  WEFT_TRY(tell_ticket(session, ticket));
  if (peers > 1) {
    WEFT_TRY_ASSIGN(session.local_peers,
                    LocalPeers::start(*session.out, ticket, peers, threads, *session.log));
  }
  return {};
}

Status prepare_join(Session& session, const JoinRequest& request) {
  WEFT_TRY_ASSIGN(const Ticket ticket, parse_ticket(request.ticket));
  WEFT_TRY(check_expiry(ticket, session.clock.unix_time_s()));
  WEFT_TRY(open_output(session, request.out, "weft-runs/joined", request.json));
  WEFT_TRY_ASSIGN(const PeerSettings settings,
                  peer_settings(session, request.listen, request.map_port));
  const Result<std::string> text =
      Swarm::fetch_recipe(ticket, settings.identity, kFetchRecipeLimit);
  if (!text.ok()) {
    return text.status().with_context(
        "join: no member of the ticket gave the recipe; a peer that still runs has a newer ticket");
  }
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(*text, "recipe of the run"));
  set_thread_count(request.threads.value_or(threads_for(1)));
  WEFT_TRY_ASSIGN(session.trainer, Trainer::make(recipe, data_places(), session.clock));
  WEFT_TRY_ASSIGN(const std::string aside, session.out->set_checkpoints_aside());
  SwarmOptions options = swarm_options(recipe, session.trainer->layout(), settings);
  options.membership.run = ticket.run;
  session.run_id = to_hex(ticket.run);
  session.role = "joiner";
  WEFT_TRY_ASSIGN(auto swarm, Swarm::join(std::move(options), ticket));
  session.exchange = make_swarm_exchange(std::move(swarm));
  return {};
}

}  // namespace

ExitCode report(const Status& status) {
  std::fprintf(stderr, "weft: %s\n", status.message().c_str());
  return exit_code_of(status);
}

ExitCode run_command(const RunRequest& request, TimePoint started) {
  install_interrupt_handler();
  Session session;
  session.started = started;
  if (const Status status = prepare_run(session, request); !status.ok()) return report(status);
  return take_part(session, true);
}

ExitCode join_command(const JoinRequest& request, TimePoint started) {
  install_interrupt_handler();
  Session session;
  session.started = started;
  if (const Status status = prepare_join(session, request); !status.ok()) return report(status);
  return take_part(session, false);
}

}  // namespace weft
