#include "weft/app/demo/demo.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "weft/app/demo/demo_peer.h"
#include "weft/app/demo/demo_recipe.h"
#include "weft/app/member/local_peers.h"
#include "weft/app/member/peer_command.h"
#include "weft/app/terminal/interrupt.h"
#include "weft/app/terminal/standard_output.h"
#include "weft/app/terminal/terminal.h"
#include "weft/base/file.h"
#include "weft/base/hash.h"
#include "weft/train/event/event_log.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/local_step.h"

namespace weft {
namespace {

constexpr Duration kDemoPoll = std::chrono::milliseconds(100);
// Longer than any good run takes; then what is left is killed and the demo has failed.
constexpr Duration kDemoLimit = std::chrono::seconds(900);
// After the first peer has ended, the others have so long.
constexpr Duration kEndLimit = std::chrono::seconds(30);

class Demo {
 public:
  Demo(const DemoRequest& request, EventLog& log, const Clock& clock, Recipe recipe)
      : request_(request),
        log_(log),
        clock_(clock),
        recipe_(std::move(recipe)),
        rounds_(
            static_cast<std::int64_t>(round_after(recipe_.run.steps, recipe_.local.steps).value())),
        kill_at_(std::max<std::int64_t>(1, rounds_ / 3)),
        join_at_(std::max<std::int64_t>(2, rounds_ / 2)) {}

  // Runs to the end; the first fault ends it.
  Status run(const std::string& recipe_path) {
    deadline_ = deadline_after(clock_, kDemoLimit);
    WEFT_TRY(start_founder(recipe_path));
    while (!all_ended()) {
      WEFT_TRY(look());
      if (interrupted()) return aborted("interrupted");
      if (clock_.now() >= deadline_) return timed_out("the peers did not end in time");
    }
    return {};
  }

  DemoReport report(TimePoint started, const Status& status) {
    DemoReport report;
    for (const auto& peer : peers_) {
      peer->listen();
      report.peers.push_back(peer->report());
      if (peer->killed()) report.killed_peer = peer->peer_id();
    }
    if (newcomer_ != nullptr) report.joined_peer = newcomer_->peer_id();
    report.seconds = to_seconds(clock_.now() - started);
    report.fault = status.message();
    return report;
  }

 private:
  Status start(std::vector<std::string> arguments, DemoProcess** out) {
    const int number = static_cast<int>(peers_.size()) + 1;
    for (const char* more : {"--listen", "127.0.0.1:0", "--threads", "1"}) {
      arguments.emplace_back(more);
    }
    WEFT_TRY_ASSIGN(DemoProcess process,
                    DemoProcess::start(std::move(arguments),
                                       fmt::format("{}/peer-{}", request_.out, number), number));
    peers_.push_back(std::make_unique<DemoProcess>(std::move(process)));
    *out = peers_.back().get();
    return {};
  }

  Status start_founder(const std::string& recipe_path) {
    std::vector<std::string> arguments = {"run", recipe_path};
    for (const std::string& setting : request_.settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    arguments.insert(arguments.end(),
                     {"--set", fmt::format("group.start_members={}", request_.peers)});
    DemoProcess* founder = nullptr;
    return start(std::move(arguments), &founder);
  }

  // It takes the files that the recipe means here.
  Status start_joiner(const std::string& ticket, DemoProcess** out) {
    WEFT_TRY_ASSIGN(const std::vector<std::string> flags, local_peer_flags(recipe_, {}));
    std::vector<std::string> arguments = {"join", ticket, "--yes"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return start(std::move(arguments), out);
  }

  bool all_ended() {
    return std::all_of(peers_.begin(), peers_.end(), [](auto& peer) { return peer->has_ended(); });
  }

  // Hears what the peers tell and does what is due.
  Status look() {
    std::vector<ChildProcess*> children;
    for (const auto& peer : peers_) children.push_back(&peer->child());
    wait_for_output(children, kDemoPoll);
    bool ended = false;
    for (const auto& peer : peers_) {
      for (const Event& event : peer->listen()) {
        if (peer.get() == shown()) show(event);
      }
      if (!peer->has_ended() || peer->killed()) continue;
      ended = true;
      if (peer->child().exit_code() != 0) {
        return unavailable(fmt::format("peer {} {}", peer->number(), peer->report().status));
      }
    }
    if (ended) deadline_ = std::min(deadline_, deadline_after(clock_, kEndLimit));
    return act();
  }

  Status act() {
    WEFT_TRY(start_joiners());
    if (victim_ == nullptr) return {};
    const std::int64_t round = newest_round();
    if (round >= kill_at_ && !victim_->killed()) {
      victim_->kill();
      log_.append(fault_event("peer_killed", *victim_, round));
    }
    if (round < join_at_ || newcomer_ != nullptr || shown()->ticket().empty()) return {};
    WEFT_TRY(start_joiner(shown()->ticket(), &newcomer_));
    log_.append(fault_event("peer_added", *newcomer_, round));
    return {};
  }

  // As soon as the founder has told its ticket.
  Status start_joiners() {
    const std::string ticket = peers_.front()->ticket();
    if (victim_ != nullptr || ticket.empty()) return {};
    DemoProcess* peer = nullptr;
    while (static_cast<int>(peers_.size()) < request_.peers) {
      WEFT_TRY(start_joiner(ticket, &peer));
    }
    draw_victim();
    return {};
  }

  static Event fault_event(const char* kind, const DemoProcess& peer, std::int64_t round) {
    return Event(kind)
        .with("peer", peer.name())
        .with("process", peer.number())
        .with("round", round);
  }

  void draw_victim() {
    std::array<std::uint8_t, 1> chance{};
    random_bytes(chance);
    victim_ = peers_[chance[0] % peers_.size()].get();
  }

  // The peer whose news the person sees: the first that is not to be killed.
  DemoProcess* shown() {
    DemoProcess* first = peers_.front().get();
    return first != victim_ || peers_.size() < 2 ? first : peers_[1].get();
  }

  void show(const Event& event) {
    if (event.kind == "ticket" || event.kind == "summary" || event.kind == "first_step") return;
    Event copy = event;
    copy.unix_time_s = 0;
    if (is_documented(copy)) log_.append(std::move(copy));
  }

  std::int64_t newest_round() const {
    std::int64_t newest = 0;
    for (const auto& peer : peers_) newest = std::max(newest, peer->round());
    return newest;
  }

  const DemoRequest& request_;
  EventLog& log_;
  const Clock& clock_;
  const Recipe recipe_;
  const std::int64_t rounds_;
  const std::int64_t kill_at_;
  const std::int64_t join_at_;
  TimePoint deadline_;
  std::vector<std::unique_ptr<DemoProcess>> peers_;
  DemoProcess* victim_ = nullptr;
  DemoProcess* newcomer_ = nullptr;
};

// Writes the demo's recipe into `folder`, unless the person gave one.
Result<std::string> recipe_path_of(const DemoRequest& request) {
  if (!request.recipe.empty()) return request.recipe;
  const std::string path = request.out + "/recipe.toml";
  WEFT_TRY(write_file_atomically(path, as_bytes(std::string_view(kDemoRecipe))));
  return path;
}

Result<Recipe> demo_recipe(const std::string& path, const std::vector<std::string>& settings) {
  WEFT_TRY_ASSIGN(Recipe recipe, load_recipe(path));
  for (const std::string& text : settings) {
    WEFT_TRY_ASSIGN(const RecipeSetting setting, parse_setting(text));
    WEFT_TRY(apply_setting(recipe, setting));
  }
  return recipe;
}

}  // namespace

ExitCode demo_command(const DemoRequest& request, TimePoint started) {
  const SystemClock clock;
  std::error_code error;
  std::filesystem::create_directories(request.out, error);
  if (error) return report(unavailable(fmt::format("{}: {}", request.out, error.message())));
  const Result<std::string> path = recipe_path_of(request);
  if (!path.ok()) return report(path.status());
  Result<Recipe> recipe = demo_recipe(*path, request.settings);
  if (!recipe.ok()) return report(recipe.status());
  Terminal terminal = Terminal::to_standard_output(output_mode(request.json), clock);
  auto log = EventLog::open(request.out + "/events.jsonl", clock,
                            [&](const Event& event) { terminal.hear(event); });
  if (!log.ok()) return report(log.status());
  go_on_without_output("the demo goes on; its events are in " + request.out + "/events.jsonl");
  end_politely_if_interrupted("the peers of the demo are ended (once more: at once)");
  terminal.say(
      fmt::format("{} peers train {} on {} for {} steps; one will be killed, one will join",
                  request.peers, recipe->model.name, recipe->data.name, recipe->run.steps));
  Demo demo(request, **log, clock, *recipe);
  const Status status = demo.run(*path);
  const DemoReport result = demo.report(started, status);
  terminal.finish();
  for (const std::string& line : demo_table(result)) terminal.say(line);
  const bool shown = terminal.close(kOutputLimit);
  if (request.json && shown) print_text(demo_json(result) + "\n");
  if (interrupted()) return ExitCode::kInterrupted;
  return result.ok() ? ExitCode::kOk : ExitCode::kFailure;
}

}  // namespace weft
