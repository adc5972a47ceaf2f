#include "weft/app/member/peer_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "weft/app/folder/find_run.h"
#include "weft/app/folder/out_folder.h"
#include "weft/app/member/held_state.h"
#include "weft/app/member/join_plan.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/member/resume.h"
#include "weft/app/terminal/environment.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/log.h"
#include "weft/base/parallel.h"
#include "weft/collective/engine/mpi_engine.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/net/rendezvous_opendht.h"
#include "weft/train/exchange/engine_exchange.h"
#include "weft/train/exchange/swarm_exchange.h"
#include "weft/train/loose/loose_run.h"
#include "weft/train/run/wiring.h"

namespace weft {
namespace {

constexpr Duration kFetchRecipeLimit = std::chrono::seconds(20);
// Between the start of the first and the last member of an engine.
constexpr Duration kEngineLimit = std::chrono::seconds(60);

ResumeOptions resume_options(MemberSession& session, bool older_agreed) {
  ResumeOptions options;
  options.older_agreed = older_agreed;
  options.note = [&session](const std::string& text) {
    session.log->append(Event("note").with("text", text));
  };
  return options;
}

// Loads the newest checkpoint, or makes room for new ones. The step to go on from.
Result<std::int64_t> resume_or_begin(MemberSession& session, const RunRequest& request) {
  const auto note = [&](std::string text) {
    session.log->append(Event("note").with("text", std::move(text)));
  };
  if (!request.resume) {
    WEFT_TRY_ASSIGN(const std::string aside, session.out->set_checkpoints_aside());
    if (!aside.empty()) {
      note("the checkpoints of the previous run are in " + aside +
           " now; --resume continues from "
           "one");
    }
    return std::int64_t{0};
  }
  const Checkpoints checkpoints(session.out->checkpoints_path(), 1, "");
  ResumeOptions options = resume_options(session, request.resume_from == "older");
  if (is_terminal_there()) options.ask = ask_on_terminal;
  WEFT_TRY_ASSIGN(const auto loaded, load_to_resume(checkpoints, *session.trainer, options));
  if (!loaded.has_value()) {
    note(fmt::format("--resume: no checkpoint is in {}: a new run begins",
                     session.out->checkpoints_path()));
    return std::int64_t{0};
  }
  const std::int64_t steps = session.trainer->recipe().run.steps;
  if (loaded->step >= steps) {
    note(fmt::format("{} is after step {}, and the run has {}: no step is left to train",
                     loaded->path, loaded->step, steps));
  }
  return loaded->step;
}

// Whether members exchange without agreement.
bool is_loose(const Recipe& recipe) { return gossips(recipe) || mixes(recipe); }

// Founds a run of a loose exchange, or joins one by `ticket`.
Status begin_loose(MemberSession& session, const PeerSettings& settings,
                   const std::optional<Ticket>& ticket) {
  Trainer& trainer = *session.trainer;
  WEFT_TRY_ASSIGN(LooseRun run, mixes(trainer.recipe())
                                    ? start_mix_run(trainer, settings, ticket, interrupted)
                                    : start_gossip_run(trainer, settings, ticket));
  session.run_id = std::move(run.run_id);
  const bool resumed = !ticket && trainer.rounds_done() > Round();
  session.role = ticket ? "joiner" : resumed ? "resumed" : "founder";
  session.group = std::move(run.exchange);
  return {};
}

Status found_group(MemberSession& session, const RunRequest& request, std::int64_t step) {
  const Trainer& trainer = *session.trainer;
  WEFT_TRY_ASSIGN(const PeerSettings settings, peer_settings(session, request));
  if (is_loose(trainer.recipe())) return begin_loose(session, settings, std::nullopt);
  SwarmOptions options = swarm_options(trainer.recipe(), trainer.layout(), settings);
  Hash256 nonce{};
  random_bytes(nonce);
  options.membership.run = make_run_id(recipe_hash(trainer.recipe()), nonce);
  random_bytes(options.membership.invitation_key);
  options.resume_round = round_after(step, trainer.recipe().local.steps);
  options.gather_states = request.resume;
  options.record_file = session.out->record_path();
  if (request.resume) {
    options.membership.past = past_membership(*session.out, settings.identity, *session.log);
    WEFT_TRY_ASSIGN(options.held_run, checkpoint_run(*session.out));
    options.residual = held_residual(*session.out, options, options.resume_round, *session.log);
  }
  session.run_id = to_hex(options.membership.run);
  session.role = step > 0 ? "resumed" : "founder";
  WEFT_TRY_ASSIGN(auto swarm, Swarm::found(std::move(options)));
  session.group = make_swarm_exchange(std::move(swarm));
  return {};
}

// What rank `rank` of an engine needs; rank 0 prints and saves, the others write below its folder.
Status prepare_member(MemberSession& session, const RunRequest& request, int rank, int size) {
  WEFT_TRY_ASSIGN(const Recipe recipe, recipe_of(request));
  if (aggregates(recipe)) {
    return invalid_argument(fmt::format(
        "--engine: an engine adds up, and the recipe has aggregate.rule = \"{}\"; leave --engine "
        "out, or set aggregate.rule = \"mean\"",
        recipe.aggregate.rule));
  }
  if (recipe.group.wait != "all") {
    return invalid_argument(fmt::format(
        "--engine: members of an engine wait for each other, and the recipe has group.wait = "
        "\"{}\"; leave --engine out, or set group.wait = \"all\"",
        recipe.group.wait));
  }
  const std::string stem = std::filesystem::path(request.recipe_path).stem().string();
  const std::string shared = request.out.empty() ? "weft-runs/" + stem : request.out;
  const std::string own = rank == 0 ? shared : shared + "/rank-" + std::to_string(rank);
  WEFT_TRY(open_output(session, request, own, own));
  session.saves_checkpoints = rank == 0;
  if (rank > 0)
    session.terminal.emplace(OutputMode::kPlain, 80, session.clock, [](auto) { return true; });
  set_thread_count(request.threads.value_or(threads_for(size)));
  WEFT_TRY_ASSIGN(session.trainer, Trainer::make(recipe, data_places(request.data), session.clock));
  if (request.resume) {
    const Checkpoints checkpoints(shared + "/checkpoints", 1, "");
    const ResumeOptions options = resume_options(session, request.resume_from == "older");
    return load_to_resume(checkpoints, *session.trainer, options).status();
  }
  if (rank > 0) return {};
  return session.out->set_checkpoints_aside().status();
}

// Ok where `own` is ok at every rank: nobody waits for a member that could not begin.
Status all_begin(Engine& engine, const Status& own) {
  const std::vector<float> begins = {own.ok() ? 1.0F : 0.0F};
  std::vector<float> all(static_cast<std::size_t>(engine.size()));
  WEFT_TRY(engine.all_gather(begins, all, {})->wait(kEngineLimit));
  WEFT_TRY(own);
  const auto missing = std::find(all.begin(), all.end(), 0.0F);
  if (missing == all.end()) return {};
  return unavailable(fmt::format("rank {} could not begin", missing - all.begin()));
}

Status prepare_engine_run(MemberSession& session, const RunRequest& request) {
  if (request.peers)
    return invalid_argument(
        "--peers: with --engine mpi, mpirun starts the "
        "processes");
  WEFT_TRY_ASSIGN(std::unique_ptr<Engine> engine, make_mpi_engine());
  WEFT_TRY(all_begin(*engine, prepare_member(session, request, engine->rank(), engine->size())));
  EngineExchangeOptions options;
  WEFT_TRY_ASSIGN(const PeerSettings settings, peer_settings(session, request));
  options.self = settings.identity.id();
  options.last_round = last_round(session.trainer->recipe());
  options.resume_round = session.trainer->rounds_done();
  // One name for the run at all ranks.
  Hash256 nonce{};
  random_bytes(nonce);
  std::array<float, sizeof nonce / sizeof(float)> shared{};
  std::memcpy(shared.data(), nonce.data(), sizeof nonce);
  WEFT_TRY(engine->broadcast(shared, 0, {})->wait(kEngineLimit));
  std::memcpy(nonce.data(), shared.data(), sizeof nonce);
  session.run_id = to_hex(make_run_id(recipe_hash(session.trainer->recipe()), nonce));
  session.role = fmt::format("rank {} of {}", engine->rank(), engine->size());
  session.group = make_engine_exchange(std::move(engine), options);
  return {};
}

std::string preparation_text(const Recipe& recipe) {
  return "reading " + recipe.data.name + " and making the model";
}

Status prepare_run(MemberSession& session, const RunRequest& request) {
  if (request.engine == "mpi") return prepare_engine_run(session, request);
  WEFT_TRY_ASSIGN(const Recipe recipe, recipe_of(request));
  const std::string stem = std::filesystem::path(request.recipe_path).stem().string();
  WEFT_TRY(open_output(session, request, request.out, "weft-runs/" + stem));
  if (request.resume && mixes(recipe)) {
    return invalid_argument(
        "--resume: expected none with group.exchange = \"mix\", whose members all begin with the "
        "first version, and whose checkpoints are for weft evaluate, predict and export; leave it "
        "out to begin anew");
  }
  const int peers = request.peers.value_or(1);
  const int threads = request.threads.value_or(threads_for(peers));
  set_thread_count(threads);
  const DataPlaces places = data_places(request.data);
  {
    const SlowNotice notice(preparation_text(recipe));
    WEFT_TRY_ASSIGN(session.trainer, Trainer::make(recipe, places, session.clock));
  }
  WEFT_TRY_ASSIGN(const std::int64_t step, resume_or_begin(session, request));
  WEFT_TRY(found_group(session, request, step));
  std::string ticket;
  WEFT_TRY(tell_ticket(session, ticket));
  if (peers > 1) {
    end_politely_if_interrupted(kPoliteEnd);  // they are to be ended with this one
    WEFT_TRY_ASSIGN(std::vector<std::string> flags, local_peer_flags(recipe, request.data));
    flags.insert(flags.end(), {"--threads", std::to_string(threads)});
    WEFT_TRY_ASSIGN(session.local_peers,
                    LocalPeers::start(*session.out, ticket, peers, std::move(flags), *session.log));
  }
  return {};
}

FindRunOptions find_options(const JoinRequest& request) {
  FindRunOptions options;
  options.wanted = request.wanted;
  if (!request.rendezvous.empty()) options.make_table = opendht_maker(request.rendezvous);
  return options;
}

Result<Ticket> ticket_of(const JoinRequest& request) {
  std::optional<SlowNotice> notice("searching for runs on this network");
  if (!request.ticket.empty()) return ticket_or_code(request.ticket, find_options(request));
  const auto ask = [&](const std::string& question) {
    notice.reset();
    return ask_on_terminal(question);
  };
  return find_run(find_options(request), ask, [&](const std::string& list) {
    notice.reset();
    std::fputs(list.c_str(), stderr);
  });
}

// From a member of `ticket`; where none answers, from one that is found otherwise, which `ticket`
// then names too.
Result<std::string> recipe_of_run(Ticket& ticket, const PeerIdentity& identity,
                                  const JoinRequest& request, RunNews& news) {
  Result<std::string> text = Swarm::follow_recipe(ticket, identity, kFetchRecipeLimit, &news);
  if (text.ok() || text.status().code() == Code::kInvalidArgument || news.ended_with) return text;
  const Result<Ticket> mended = refresh_ticket(ticket, find_options(request));
  if (!mended.ok()) return text;
  ticket = *mended;
  return Swarm::follow_recipe(ticket, identity, kFetchRecipeLimit, &news);
}

// Whoever was a member waits for the others to come back, which may all have died.
Result<std::string> recipe_of_lost_run(MemberSession& session, Ticket& ticket,
                                       const PeerIdentity& identity, const JoinRequest& request) {
  Comeback comeback(session.clock, *session.log);
  while (true) {
    Result<std::string> text = recipe_of_run(ticket, identity, request, session.news);
    if (text.ok() || session.news.ended_with || !comeback.waits(text.status())) return text;
  }
}

Status no_recipe(const Status& why, const RunNews& news) {
  if (news.ended_with) return why;
  // Refused by a member, for good: it has said why.
  if (why.code() == Code::kInvalidArgument) return why.with_context("join");
  if (news.deserted && news.left) {
    return why.with_context(
        "join: the run seems to have ended just now: its members have left their addresses");
  }
  if (news.deserted) {
    return why.with_context(
        "join: the run has ended, or its members have moved; a peer that still runs has a newer "
        "ticket");
  }
  return why.with_context(
      "join: no member of the ticket sent the recipe; a peer that still runs has a newer ticket");
}

// What is silence otherwise, until somebody answers.
std::string dial_text(const Ticket& ticket) {
  std::string addresses;
  for (const PeerAddress& member : ticket.members) {
    for (const std::string& endpoint : member.endpoints) {
      addresses += (addresses.empty() ? "" : ", ") + endpoint;
    }
  }
  return fmt::format("asking the members of the run for its recipe, at {}; for at most {:.0f} s",
                     addresses, to_seconds(kFetchRecipeLimit));
}

Result<std::unique_ptr<Trainer>> make_reviewed(const MemberSession& session,
                                               const JoinRequest& request, const Recipe& recipe) {
  std::optional<SlowNotice> notice(preparation_text(recipe));
  const auto review = [&](const TrainerPlan& size) {
    notice.reset();  // a person is asked
    WEFT_TRY(review_join(recipe, size, request, session.out->path()));
    notice.emplace(preparation_text(recipe));
    return Status();
  };
  return Trainer::make(recipe, foreign_data_places(request.data), session.clock, review);
}

Status prepare_join(MemberSession& session, const JoinRequest& request) {
  WEFT_TRY_ASSIGN(Ticket ticket, ticket_of(request));
  WEFT_TRY(check_expiry(ticket, session.clock.unix_time_s()));
  WEFT_TRY(open_output(session, request, request.out, "weft-runs/joined"));
  WEFT_TRY_ASSIGN(const PeerSettings settings, peer_settings(session, request));
  const std::optional<VoterRecord> past =
      past_membership(*session.out, settings.identity, *session.log);
  session.log->append(Event("note").with("text", dial_text(ticket)));
  const bool was_member = past && past->run == ticket.run;
  if (was_member) ticket = with_old_members(std::move(ticket), *past);
  const Result<std::string> text =
      was_member ? recipe_of_lost_run(session, ticket, settings.identity, request)
                 : recipe_of_run(ticket, settings.identity, request, session.news);
  if (!text.ok()) return no_recipe(text.status(), session.news);
  WEFT_TRY_ASSIGN(const Recipe recipe, parse_recipe(*text, "recipe of the run"));
  set_thread_count(request.threads.value_or(threads_for(1)));
  WEFT_TRY_ASSIGN(session.trainer, make_reviewed(session, request, recipe));
  if (is_loose(recipe)) return begin_loose(session, settings, ticket);
  SwarmOptions options = swarm_options(recipe, session.trainer->layout(), settings);
  WEFT_TRY_ASSIGN(const HeldCheckpoint held,
                  held_checkpoint(*session.trainer, *session.out, past, ticket.run,
                                  resume_options(session, true)));
  options.held_round = held.round;
  options.held_run = held.run;
  options.residual = held_residual(*session.out, options, held.round, *session.log);
  options.membership.past = past;
  options.record_file = session.out->record_path();
  options.state_file = session.out->path() + "/state.partial";
  options.membership.run = ticket.run;
  session.run_id = to_hex(ticket.run);
  session.role = "joiner";
  WEFT_TRY_ASSIGN(auto swarm, Swarm::join(std::move(options), ticket));
  session.group = make_swarm_exchange(std::move(swarm));
  return {};
}

}  // namespace

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

ExitCode run_command(const RunRequest& request, TimePoint started) {
  MemberSession session;
  session.started = started;
  if (const Status status = prepare_run(session, request); !status.ok()) return report(status);
  return take_part(session, true);
}

ExitCode join_command(const JoinRequest& request, TimePoint started) {
  MemberSession session;
  session.started = started;
  if (const Status status = prepare_join(session, request); !status.ok()) {
    const ExitCode code = report(status);
    const bool over = session.news.ended_with || (session.news.deserted && session.news.left);
    return over ? ExitCode::kRunOver : code;
  }
  return take_part(session, false);
}

}  // namespace weft
