#include "weft/sim/world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/sim/gossip_world.h"
#include "weft/sim/mix_world.h"
#include "weft/sim/training_world.h"
#include "weft/train/recipe/recipe.h"

namespace weft::sim {
namespace {

// Between two looks at what asks to stop.
constexpr int kEventsBetweenLooks = 256;
// What keeps the draws of one option apart from another's.
enum Drawn : std::uint64_t { kSpeed = 1, kCrash, kJoin };
constexpr std::uint64_t kChurnStream = 0xc4;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  return hash * 0xff51afd7ed558ccdU;
}

}  // namespace

World::World(WorldOptions options, WorldEvents events)
    : options_(std::move(options)),
      events_(std::move(events)),
      network_(link_network_options(options_.seed)),
      lines_(network_, options_.links, options_.seed),
      rng_(options_.seed, 0x5157),
      newest_at_(network_.now()),
      shown_at_(network_.now()) {
  const auto peers = static_cast<std::size_t>(options_.peers);
  for (const MachineSpeed& speed : options_.speeds) {
    speeds_.resize(std::max(speeds_.size(), speed.peer + 1));
    speeds_[speed.peer] = speed.samples_per_second;
  }
  for (std::size_t i = 0; i < peers; ++i) {
    lives_.push_back(i);
    churn_draws_.emplace_back(options_.seed, kChurnStream << 32U | i);
  }
}

double World::bytes_needed(int peers, std::int64_t elements) {
  // The member's part of a round, its sums and two of the results that it keeps; and its core.
  constexpr double kVectors = 4;
  constexpr double kCoreBytes = 256 * 1024;
  const double vector = static_cast<double>(elements) * sizeof(float);
  return static_cast<double>(peers) * (kVectors * vector + kCoreBytes);
}

Hash256 World::seeded_hash(const char* what, std::size_t number) const {
  return sha256(
      as_bytes(std::string_view(fmt::format("{} {} of seed {}", what, number, options_.seed))));
}

double World::speed_of(std::size_t index) const {
  if (index < speeds_.size() && speeds_[index] > 0) return speeds_[index];
  return options_.samples_per_second.at(index, options_.seed, kSpeed);
}

std::optional<Liar> World::liar(std::size_t index) const {
  return liar_of(options_.liars, options_.peers, index, options_.seed);
}

std::size_t World::add(std::unique_ptr<VirtualPeer> peer) {
  peers_.push_back(std::move(peer));
  told_.push_back(false);
  lines_.add(peers_.back()->id());
  return peers_.size() - 1;
}

void World::replace(std::size_t index, std::unique_ptr<VirtualPeer> peer) {
  former_.push_back(std::exchange(peers_[index], std::move(peer)));
  told_[index] = false;
}

void World::say(const std::string& text) const {
  if (events_.on_news) events_.on_news(text);
}

void World::set_fault(std::string fault) {
  if (fault_.empty()) fault_ = std::move(fault);
}

std::vector<std::size_t> World::running() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i]->alive()) out.push_back(i);
  }
  return out;
}

void World::crash_one(std::optional<std::size_t> wanted) {
  const std::vector<std::size_t> there = running();
  if (there.empty()) return;
  const std::size_t index = wanted.value_or(there[rng_.below(there.size())]);
  if (index >= peers_.size() || !peers_[index]->alive()) {
    return say(fmt::format("peer {} should crash, and does not run", index));
  }
  say(fmt::format("peer {} crashes", index));
  told_[index] = true;
  ++crashed_;
  peers_[index]->crash(SimCrash::kKilled);
}

void World::schedule_faults() {
  for (std::size_t i = 0; i < options_.crashes.size(); ++i) {
    const WorldCrash& crash = options_.crashes[i];
    const double at = crash.at_seconds.at(i, options_.seed, kCrash);
    network_.call_at(TimePoint() + from_seconds(at),
                     [this, peer = crash.peer] { crash_one(peer); });
  }
  for (std::size_t i = 0; i < options_.joins.size(); ++i) {
    const double at = options_.joins[i].at(i, options_.seed, kJoin);
    network_.call_at(TimePoint() + from_seconds(at), [this] { join_late(); });
  }
}

void World::schedule_trace() {
  for (const MachineEvent& event : options_.trace) {
    network_.call_at(TimePoint() + from_seconds(event.seconds), [this, event] {
      if (event.comes) return come(event.peer);
      leave(event.peer);
    });
  }
  for (std::size_t i = 0; i < lives_.size(); ++i) schedule_churn(i, true);
}

void World::schedule_churn(std::size_t number, bool is_there) {
  if (is_there && !may_leave(number)) return;
  const std::optional<double> wait = drawn_wait(options_.churn, is_there, churn_draws_[number]);
  if (!wait) return;
  network_.call_at(network_.now() + from_seconds(*wait), [this, number, is_there] {
    if (is_there) {
      leave(number);
    } else {
      come(number);
    }
    schedule_churn(number, !is_there);
  });
}

void World::leave(std::size_t number) {
  if (lives_[number] < peers_.size() && peers_[lives_[number]]->alive()) crash_one(lives_[number]);
}

void World::come(std::size_t number) {
  if (peers_[lives_[number]]->alive()) return;
  if (comes_back(number)) return say(fmt::format("peer {} comes back", number));
  const std::size_t before = size();
  join_late();
  if (size() > before) lives_[number] = before;
}

void World::on_applied(Round round, const Hash128& state) {
  std::uint64_t words[2] = {};
  std::memcpy(words, state.data(), sizeof words);
  state_hashes_ = mixed(mixed(state_hashes_, words[0]), words[1]);
  newest_at_ = network_.now();
  newest_ = std::max(newest_, round);
}

void World::show(Round round, int members, const StepReport& report, const Hash128& state) {
  const TimePoint before = std::exchange(shown_at_, network_.now());
  if (!events_.on_round) return;
  events_.on_round({round, members, report, state, network_.now().time_since_epoch(),
                    network_.now() - before, bytes_sent()});
}

std::uint64_t World::bytes_sent() const {
  std::uint64_t sum = 0;
  for (const auto& peer : peers_) sum += peer->transport().total_stats().bytes_sent;
  return sum;
}

void World::look_for_failures() {
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    if (told_[i] || peers_[i]->failure().ok()) continue;
    told_[i] = true;
    say(fmt::format("peer {} goes on no more: {}", i, peers_[i]->failure().message()));
  }
}

WorldResult World::run() {
  start();
  schedule_faults();
  schedule_trace();
  bool stopped = false;
  for (int looks = 0; fault_.empty() && !stopped && !ended(); ++looks) {
    if (!network_.step()) break;
    if (looks % kEventsBetweenLooks != 0) continue;
    look_for_failures();
    stopped = events_.stop_asked && events_.stop_asked();
    if (network_.now() - newest_at_ > options_.patience) {
      set_fault(fmt::format("no round was applied for {:.0f} virtual seconds",
                            to_seconds(options_.patience)));
    }
  }
  look_for_failures();
  WorldResult out = result();
  out.stopped = stopped;
  return out;
}

WorldResult World::result() {
  WorldResult out;
  out.fault = fault_;
  out.crashed = crashed_;
  for (const auto& peer : peers_) {
    out.finished += peer->finished() ? 1 : 0;
    out.failed += peer->failure().ok() ? 0 : 1;
    const TransportStats stats = peer->transport().total_stats();
    out.bytes_sent += stats.bytes_sent;
    out.bytes_received += stats.bytes_received;
  }
  if (out.finished == 0 && out.fault.empty()) out.fault = "no peer came to the last round";
  out.rounds = newest_;
  out.seconds = to_seconds(newest_at_.time_since_epoch());
  out.events = network_.events();
  out.event_hash = mixed(network_.trace_hash(), state_hashes_);
  fill(out);
  return out;
}

Result<std::unique_ptr<World>> make_world(const Recipe& recipe, const DataPlaces& places,
                                          const WorldOptions& options, const WorldEvents& events,
                                          const Trainer::Review& review) {
  if (mixes(recipe)) return MixWorld::make(recipe, places, options, events, review);
  if (options.liars.data) {
    return invalid_argument(
        fmt::format("--attack: expected one on updates, such as sign_flip, with group.exchange = "
                    "\"{}\", got \"{}\"; attacks on data need \"mix\"",
                    recipe.group.exchange, options.liars.data->text()));
  }
  if (!options.disruptions.empty()) {
    return invalid_argument(
        "--disrupt: expected none without group.exchange = \"mix\"; --crash and --churn work with "
        "every exchange");
  }
  if (gossips(recipe)) return GossipWorld::make(recipe, places, options, events, review);
  return TrainingWorld::make(recipe, places, options, events, review);
}

}  // namespace weft::sim
