#include "weft/app/sim_command.h"

#include <charconv>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "weft/app/member/local_peers.h"
#include "weft/app/member/peer_command.h"
#include "weft/app/sim_replay.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/slow_notice.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/net/identity.h"
#include "weft/sim/world.h"
#include "weft/train/event/event_log.h"
#include "weft/train/event/swarm_events.h"
#include "weft/train/run/run_events.h"

namespace weft {
namespace {

constexpr double kSpeedLeast = 1e-3;
constexpr double kSpeedMost = 1e12;
constexpr double kLatencyMost = 60'000;
constexpr double kSecondsMost = 1e7;

Result<sim::WorldCrash> parse_crash(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::string who = text.substr(0, at);
  sim::WorldCrash crash;
  std::size_t number = 0;
  const auto [stop, fault] = std::from_chars(who.data(), who.data() + who.size(), number);
  const bool is_number = fault == std::errc() && stop == who.data() + who.size();
  if (at == std::string::npos || (!is_number && who != "any")) {
    return invalid_argument(
        fmt::format("--crash: expected PEER@SECONDS, such as 2@30 or any@10..60, got '{}'", text));
  }
  if (is_number) crash.peer = number;
  WEFT_TRY_ASSIGN(crash.at_seconds,
                  sim::parse_spread("--crash", text.substr(at + 1), {0, kSecondsMost}));
  return crash;
}

constexpr std::size_t kTraceBytesMax = 64 * 1024 * 1024;

Result<std::string> trace_text(const std::string& flag, const std::string& path) {
  if (!is_file(path)) {
    return invalid_argument(fmt::format("{}: {}: no such file", flag, path));
  }
  WEFT_TRY_ASSIGN(const Bytes bytes, read_file(path, kTraceBytesMax));
  return std::string(bytes.begin(), bytes.end());
}

// What befalls the machines, and how fast they are, where files or rates say it.
Status add_machine_traces(const SimRequest& request, sim::WorldOptions& options) {
  const auto peers = static_cast<std::size_t>(request.peers);
  if (request.churn.find('=') != std::string::npos) {
    WEFT_TRY_ASSIGN(options.churn, sim::parse_churn(request.churn));
  } else if (!request.churn.empty()) {
    WEFT_TRY_ASSIGN(const std::string text, trace_text("--churn", request.churn));
    WEFT_TRY_ASSIGN(options.trace, sim::parse_failures(text, request.churn, peers));
  }
  if (!request.speeds.empty()) {
    WEFT_TRY_ASSIGN(const std::string text, trace_text("--speeds", request.speeds));
    WEFT_TRY_ASSIGN(options.speeds, sim::parse_speeds(text, request.speeds, peers));
  }
  options.speeds.insert(options.speeds.end(), request.replayed_speeds.begin(),
                        request.replayed_speeds.end());
  for (const std::string& text : request.disruptions) {
    WEFT_TRY_ASSIGN(const sim::Disruption disruption, sim::parse_disruption(text));
    options.disruptions.push_back(disruption);
  }
  return {};
}

// Puts what took place into the request.
Result<SimRequest> with_replay(SimRequest request) {
  if (request.replays.empty()) return request;
  const bool others = !request.crashes.empty() || !request.joins.empty() ||
                      !request.churn.empty() || !request.speeds.empty();
  if (others) {
    return invalid_argument(
        "--replay: expected no --crash, --join, --churn and --speeds, which the run's events say");
  }
  WEFT_TRY_ASSIGN(const Replay replay, read_replay(request.replays));
  request.peers = static_cast<int>(replay.peers);
  for (std::size_t i = 0; i < replay.samples_per_second.size(); ++i) {
    request.replayed_speeds.push_back({i, replay.samples_per_second[i]});
  }
  for (const double seconds : replay.joins) {
    request.joins.push_back(fmt::format("{:.6f}", seconds));
  }
  for (const Replay::Crash& crash : replay.crashes) {
    request.crashes.push_back(fmt::format("{}@{:.6f}", crash.peer, crash.seconds));
  }
  return request;
}

Result<std::vector<PublicKey>> keys_of(const SimRequest& request) {
  if (request.identities.size() > static_cast<std::size_t>(request.peers)) {
    return invalid_argument(fmt::format("--identity: expected at most {}, one a peer, got {}",
                                        request.peers, request.identities.size()));
  }
  std::vector<PublicKey> keys;
  for (const std::string& out : request.identities) {
    const std::string path = out + "/identity";
    if (!is_file(path)) {
      return invalid_argument(
          fmt::format("--identity: {}: no such file; `weft id {}` makes it", path, out));
    }
    WEFT_TRY_ASSIGN(const PeerIdentity identity, PeerIdentity::load_or_create(path));
    keys.push_back(identity.public_key());
  }
  return keys;
}

Result<sim::WorldOptions> world_options(const SimRequest& request) {
  sim::WorldOptions options;
  options.peers = request.peers;
  options.seed = request.seed;
  WEFT_TRY_ASSIGN(options.samples_per_second,
                  sim::parse_spread("--speed", request.speed, {kSpeedLeast, kSpeedMost}));
  WEFT_TRY_ASSIGN(options.links.megabits, sim::parse_spread("--mbit", request.megabits, {0, 1e6}));
  WEFT_TRY_ASSIGN(options.links.latency_ms,
                  sim::parse_spread("--ms", request.latency_ms, {0, kLatencyMost}));
  WEFT_TRY_ASSIGN(options.links.loss, sim::parse_spread("--loss", request.loss, {0, 0.5}));
  for (const std::string& text : request.crashes) {
    WEFT_TRY_ASSIGN(sim::WorldCrash crash, parse_crash(text));
    const auto all = static_cast<std::size_t>(request.peers) + request.joins.size();
    if (crash.peer && *crash.peer >= all) {
      return invalid_argument(
          fmt::format("--crash: expected a peer from 0 to {}, got {}", all - 1, *crash.peer));
    }
    options.crashes.push_back(std::move(crash));
  }
  for (const std::string& text : request.joins) {
    WEFT_TRY_ASSIGN(sim::Spread at, sim::parse_spread("--join", text, {0, kSecondsMost}));
    options.joins.push_back(std::move(at));
  }
  WEFT_TRY(add_machine_traces(request, options));
  WEFT_TRY_ASSIGN(options.keys, keys_of(request));
  WEFT_TRY_ASSIGN(options.liars,
                  sim::parse_liars(request.attack, request.byzantine, request.peers));
  return options;
}

// Fails where the machine's memory is not enough for so many.
Status check_memory(const SimRequest& request, std::int64_t elements) {
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  const int peers = request.peers + static_cast<int>(request.joins.size());
  const double needed = sim::World::bytes_needed(peers, elements);
  if (needed <= memory) return {};
  const auto fitting = static_cast<int>(memory / sim::World::bytes_needed(1, elements));
  return invalid_argument(fmt::format(
      "--peers: {} peers of this model need about {}, and this machine has {}; expected "
      "at most {}",
      peers, bytes_text(needed), bytes_text(memory), fitting));
}

// What is shown of a world.
class SimReport {
 public:
  SimReport(const SimRequest& request, EventLog& log) : request_(request), log_(log) {}

  void on_round(const sim::World& world, const sim::WorldRound& round) {
    const Trainer& trainer = world.trainer();
    const RoundMetrics& sums = round.report.metrics;
    virtual_seconds_ = to_seconds(round.now);
    if (trainer.is_evaluation(round.round)) {
      test_ = sums;
      log_.append(evaluation_event(trainer, sums));
      return;
    }
    loss_ = sums.loss;
    const double took = to_seconds(round.took);
    const auto rounds = trainer.training_rounds().value();
    Event event("round");
    event.with("round", round.round.value())
        .with("rounds", rounds)
        .with("step", trainer.steps_done())
        .with("steps", trainer.recipe().run.steps)
        .with("loss", sums.loss)
        .with("accuracy", sums.accuracy())
        .with("members", round.members)
        .with("learning_rate", round.report.learning_rate)
        .with("round_seconds", took)
        .with("samples_per_second", took > 0 ? sums.samples / took : 0.0)
        .with("bytes_sent", round.bytes_sent)
        .with("state", to_hex(round.state))
        .with("virtual_seconds", virtual_seconds_);
    // A person waits for the end in the time of this machine.
    if (!request_.json) {
      const double each =
          to_seconds(clock_.now() - begun_) / static_cast<double>(round.round.value());
      event.with("eta_s", each * static_cast<double>(rounds - round.round.value()));
    }
    log_.append(std::move(event));
    if (round.report.measured_step) log_.append(validation_event(trainer, round.report));
  }
  void on_event(const SwarmEvent& event) {
    group_.hear(event);
    if (std::optional<Event> told = event_of(event, group_)) log_.append(*std::move(told));
  }
  void note(const sim::World& world, const std::string& text) {
    const double now = to_seconds(world.clock().now().time_since_epoch());
    log_.append(Event("note").with("text", fmt::format("at {:.3f} s: {}", now, text)));
  }
  void end(const sim::World& world, const sim::WorldResult& result) {
    if (result.mean_model) {
      test_.emplace();
      static_cast<ComputedSums&>(*test_) = static_cast<const ComputedSums&>(*result.mean_model);
      log_.append(evaluation_event(world.trainer(), *test_));
    }
    Event event("simulated");
    event.with("peers", request_.peers)
        .with("seed", request_.seed)
        .with("rounds", result.rounds.value())
        .with("virtual_seconds", result.seconds)
        .with("loss", loss_)
        .with("bytes_sent", result.bytes_sent)
        .with("bytes_received", result.bytes_received)
        .with("finished", result.finished)
        .with("crashed", result.crashed)
        .with("events", result.events)
        .with("event_hash", fmt::format("{:016x}", result.event_hash))
        .with("state_hash", result.state_hash)
        .with("fault", result.fault);
    if (result.distance) {
      std::vector<std::string> ids;
      std::vector<std::string> states;
      for (const sim::WorldResult::Member& member : result.members) {
        ids.push_back(member.id.to_string());
        states.push_back(member.state);
      }
      event.with("peer_ids", std::move(ids))
          .with("peer_states", std::move(states))
          .with("distance", *result.distance);
    }
    if (!result.components.empty()) {
      std::vector<double> members;
      std::vector<double> accuracies;
      for (const sim::WorldResult::Component& part : result.components) {
        members.push_back(static_cast<double>(part.members));
        accuracies.push_back(part.accuracy);
      }
      event.with("component_members", std::move(members))
          .with("component_accuracies", std::move(accuracies));
    }
    if (result.members_accuracy) event.with("members_accuracy", *result.members_accuracy);
    if (result.attack_rate) event.with("attack_rate", *result.attack_rate);
    if (test_) {
      event.with("test_loss", test_->loss).with("test_accuracy", test_->accuracy());
    }
    log_.append(std::move(event));
  }

 private:
  const SimRequest& request_;
  EventLog& log_;
  SystemClock clock_;
  TimePoint begun_ = clock_.now();
  GroupNews group_;
  double loss_ = 0;
  double virtual_seconds_ = 0;
  std::optional<RoundMetrics> test_;
};

std::string result_text(const SimRequest& request, const sim::WorldResult& result) {
  const std::string apart =
      result.distance ? fmt::format("; {} apart from their mean", percent_text(*result.distance))
                      : std::string();
  const std::string attacked =
      result.attack_rate ? fmt::format("; the attack succeeds with {:.1f} % of its samples",
                                       100.0 * *result.attack_rate)
                         : std::string();
  return fmt::format(
      "{} rounds by {} peers in {:.3f} virtual seconds, {} sent; {} finished, {} crashed, {} gave "
      "up{}{}\n"
      "state {}\nevents {} of seed {}, hash {:016x}",
      result.rounds.value(), request.peers, result.seconds,
      bytes_text(static_cast<double>(result.bytes_sent)), result.finished, result.crashed,
      result.failed, apart, attacked, result.state_hash.empty() ? "none" : result.state_hash,
      result.events, request.seed, result.event_hash);
}

Result<std::unique_ptr<sim::World>> make_world(const SimRequest& request,
                                               const sim::WorldEvents& events) {
  WEFT_TRY_ASSIGN(const Recipe recipe, simulated_recipe(request));
  const SlowNotice notice("reading " + recipe.data.name + " and making the model");
  return simulated_world(request, recipe, events);
}

}  // namespace

Status check_simulation_flags(const SimRequest& request) { return world_options(request).status(); }

Result<Recipe> simulated_recipe(const SimRequest& request) {
  RunRequest run;
  run.recipe_path = request.recipe_path;
  run.settings = request.settings;
  run.peers = request.peers;
  WEFT_TRY_ASSIGN(Recipe recipe, recipe_of(run));
  if (request.rounds) {
    run.steps = *request.rounds * recipe.local.steps;
    WEFT_TRY_ASSIGN(recipe, recipe_of(run));
  }
  return recipe;
}

Result<std::unique_ptr<sim::World>> simulated_world(const SimRequest& request, const Recipe& recipe,
                                                    const sim::WorldEvents& events) {
  WEFT_TRY_ASSIGN(const sim::WorldOptions options, world_options(request));
  const auto review = [&](const TrainerPlan& plan) { return check_memory(request, plan.elements); };
  return sim::make_world(recipe, data_places(request.data), options, events, review);
}

ExitCode sim_command(const SimRequest& given) {
  const Result<SimRequest> replayed = with_replay(given);
  if (!replayed.ok()) return report(replayed.status());
  const SimRequest& request = *replayed;
  set_thread_count(request.threads.value_or(threads_for(1)));
  const SystemClock clock;
  Terminal terminal = Terminal::to_standard_output(output_mode(request.json), clock);
  std::unique_ptr<sim::World> world;
  std::unique_ptr<EventLog> log;
  std::optional<SimReport> shown;
  sim::WorldEvents events;
  events.on_round = [&](const sim::WorldRound& round) { shown->on_round(*world, round); };
  events.on_event = [&](const SwarmEvent& event) { shown->on_event(event); };
  events.on_news = [&](const std::string& text) { shown->note(*world, text); };
  events.stop_asked = interrupted;
  auto made = make_world(request, events);
  if (!made.ok()) return report(made.status());
  world = std::move(made).value();
  // Times are virtual, so that what is written is the same each time.
  auto opened =
      EventLog::open("", world->clock(), [&](const Event& event) { terminal.hear(event); });
  if (!opened.ok()) return report(opened.status());
  log = std::move(opened).value();
  shown.emplace(request, *log);
  end_politely_if_interrupted("the simulation ends (once more: at once)");
  const sim::WorldResult result = world->run();
  shown->end(*world, result);
  terminal.finish();
  terminal.say(result_text(request, result));
  terminal.close(kOutputLimit);
  if (result.stopped) return ExitCode::kInterrupted;
  if (!result.fault.empty()) return report(unavailable("sim: " + result.fault));
  return ExitCode::kOk;
}

}  // namespace weft
