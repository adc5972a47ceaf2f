#include "weft/sim/training_world.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/collective/swarm_core_options.h"
#include "weft/train/wiring.h"

namespace weft::sim {
namespace {

constexpr Duration kWorldTicketValid = std::chrono::hours(24 * 365);
constexpr Duration kJoinTakes = std::chrono::seconds(2);
constexpr Duration kJoinRetry = std::chrono::milliseconds(20);
// Between two looks at what asks to stop.
constexpr int kEventsBetweenLooks = 256;
// What keeps the draws of one option apart from another's.
enum Drawn : std::uint64_t { kSpeed = 1, kCrash, kJoin };

Hash256 seeded_hash(const WorldOptions& options, const char* what, std::size_t number) {
  return sha256(
      as_bytes(std::string_view(fmt::format("{} {} of seed {}", what, number, options.seed))));
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
  return hash * 0xff51afd7ed558ccdU;
}

}  // namespace

Result<std::unique_ptr<TrainingWorld>> TrainingWorld::make(const Recipe& recipe,
                                                           const DataPlaces& places,
                                                           const WorldOptions& options,
                                                           const WorldEvents& events,
                                                           const Trainer::Review& review) {
  Recipe own = recipe;
  own.group.start_members = options.peers;
  std::unique_ptr<TrainingWorld> world(new TrainingWorld(own, options, events));
  WEFT_TRY_ASSIGN(world->trainer_,
                  GroupTrainer::make(own, places, world->network_.clock(), review));
  const Trainer& trainer = world->trainer_->trainer();
  SwarmOptions swarm = swarm_options(own, trainer.layout(), {});
  const RunId run = make_run_id(recipe_hash(own), seeded_hash(world->options_, "run", 0));
  swarm.membership.run = run;
  swarm.membership.invitation_key = seeded_hash(world->options_, "key", 0);
  swarm.recipe_text = canonical_text(own);
  world->run_id_ = to_hex(run);
  world->core_options_ = core_options(swarm, {});
  // They come one after the other, which takes the longer the more there are.
  world->core_options_.start_timeout += kJoinTakes * own.group.start_members;
  return world;
}

TrainingWorld::TrainingWorld(const Recipe& recipe, WorldOptions options, WorldEvents events)
    : recipe_(recipe),
      options_(std::move(options)),
      events_(std::move(events)),
      network_(line_network_options(options_.seed)),
      lines_(network_, options_.lines, options_.seed),
      rng_(options_.seed, 0x5157),
      newest_at_(network_.now()) {}

double TrainingWorld::bytes_needed(int peers, std::int64_t elements) {
  // The member's part of a round, its sums and two of the results that it keeps; and its core.
  constexpr double kVectors = 4;
  constexpr double kCoreBytes = 256 * 1024;
  const double vector = static_cast<double>(elements) * sizeof(float);
  return static_cast<double>(peers) * (kVectors * vector + kCoreBytes);
}

void TrainingWorld::say(const std::string& text) const {
  if (events_.on_news) events_.on_news(text);
}

double TrainingWorld::seconds(TimePoint when) const { return to_seconds(when.time_since_epoch()); }

SwarmMember& TrainingWorld::add_member() {
  const std::size_t index = members_.size();
  SwarmMemberSettings settings;
  settings.id.bytes = seeded_hash(options_, "peer", index);
  settings.run_id = run_id_;
  settings.seed = rng_.next_u64();
  settings.incarnation = static_cast<std::uint64_t>(network_.now().time_since_epoch().count()) + 1;
  settings.samples_per_second = options_.samples_per_second.at(index, options_.seed, kSpeed);
  MemberWatch& watch = *this;
  members_.push_back(std::make_unique<SwarmMember>(network_, core_options_, std::move(settings),
                                                   *trainer_, watch));
  told_.push_back(false);
  lines_.add(members_.back()->id());
  return *members_.back();
}

std::vector<std::size_t> TrainingWorld::running() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i]->alive()) out.push_back(i);
  }
  return out;
}

// One that is in, to make a ticket.
SwarmMember* TrainingWorld::a_member() {
  for (const std::size_t index : running()) {
    if (members_[index]->core().state() == MembershipState::kMember) return members_[index].get();
  }
  return nullptr;
}

// One after the other, so that ranks are the order of the numbers.
void TrainingWorld::join_next(bool first) {
  const bool previous_is_in =
      members_.back()->core().state() == MembershipState::kMember || !members_.back()->alive();
  SwarmMember* const member = a_member();
  if (member != nullptr && (!first || previous_is_in)) {
    const Ticket ticket = member->ticket(kWorldTicketValid);
    add_member().join(ticket);
    first ? --to_join_ : static_cast<int>(--late_joins_);
    if (!first) say(fmt::format("peer {} joins", members_.size() - 1));
    if (!first || to_join_ == 0) return;
  }
  if (!first && running().empty()) return;
  network_.call_at(network_.now() + kJoinRetry, [this, first] { join_next(first); });
}

void TrainingWorld::crash_one(std::optional<std::size_t> wanted) {
  const std::vector<std::size_t> there = running();
  if (there.empty()) return;
  const std::size_t index = wanted.value_or(there[rng_.below(there.size())]);
  if (index >= members_.size() || !members_[index]->alive()) {
    return say(fmt::format("peer {} should crash, and does not run", index));
  }
  say(fmt::format("peer {} crashes", index));
  told_[index] = true;
  ++crashed_;
  members_[index]->crash(SimCrash::kKilled);
}

void TrainingWorld::schedule_faults() {
  for (std::size_t i = 0; i < options_.crashes.size(); ++i) {
    const WorldCrash& crash = options_.crashes[i];
    const double at = crash.at_seconds.at(i, options_.seed, kCrash);
    network_.call_at(TimePoint() + from_seconds(at),
                     [this, peer = crash.peer] { crash_one(peer); });
  }
  late_joins_ = options_.joins.size();
  for (std::size_t i = 0; i < options_.joins.size(); ++i) {
    const double at = options_.joins[i].at(i, options_.seed, kJoin);
    network_.call_at(TimePoint() + from_seconds(at), [this] { join_next(false); });
  }
}

void TrainingWorld::on_round(const SwarmMember& member, const Turn& turn,
                             const StepReport& report) {
  const Hash128 state = member.state().shared->hash.total;
  const auto [known, fresh] = states_.try_emplace(turn.round.value(), state);
  if (known->second != state && fault_.empty()) {
    fault_ = fmt::format("peers differ in the state after round {}", turn.round.value());
  }
  if (!fresh) return;
  std::uint64_t words[2] = {};
  std::memcpy(words, state.data(), sizeof words);
  state_hashes_ = mixed(mixed(state_hashes_, words[0]), words[1]);
  const TimePoint before = std::exchange(newest_at_, network_.now());
  newest_ = std::max(newest_, turn.round);
  if (!events_.on_round) return;
  events_.on_round({member, turn, report, network_.now().time_since_epoch(),
                    network_.now() - before, bytes_sent()});
}

void TrainingWorld::on_event(const SwarmMember& member, const SwarmEvent& event) {
  if (event.kind == SwarmEventKind::kStateMismatch && fault_.empty()) fault_ = event.text;
  const std::vector<std::size_t> there = running();
  const bool speaks = !there.empty() && members_[there.front()].get() == &member;
  if (speaks && events_.on_event) events_.on_event(member, event);
}

std::uint64_t TrainingWorld::bytes_sent() const {
  std::uint64_t sum = 0;
  for (const auto& member : members_) sum += member->transport().total_stats().bytes_sent;
  return sum;
}

void TrainingWorld::look_for_failures() {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (told_[i] || members_[i]->failure().ok()) continue;
    told_[i] = true;
    say(fmt::format("peer {} goes on no more: {}", i, members_[i]->failure().message()));
  }
}

bool TrainingWorld::all_ended() const {
  return to_join_ == 0 &&
         std::ranges::none_of(members_, [](const auto& member) { return member->alive(); });
}

WorldResult TrainingWorld::run() {
  to_join_ = options_.peers - 1;
  add_member().found();
  if (to_join_ > 0) join_next(true);
  schedule_faults();
  bool stopped = false;
  for (int looks = 0; fault_.empty() && !stopped && !all_ended(); ++looks) {
    if (!network_.step()) break;
    if (looks % kEventsBetweenLooks != 0) continue;
    look_for_failures();
    stopped = events_.stop_asked && events_.stop_asked();
    if (network_.now() - newest_at_ > options_.patience) {
      fault_ = fmt::format("no round was applied for {:.0f} virtual seconds",
                           to_seconds(options_.patience));
    }
  }
  look_for_failures();
  WorldResult out = result();
  out.stopped = stopped;
  return out;
}

WorldResult TrainingWorld::result() {
  WorldResult out;
  out.fault = fault_;
  out.crashed = crashed_;
  const SwarmMember* last = nullptr;
  for (const auto& member : members_) {
    out.finished += member->finished() ? 1 : 0;
    out.failed += member->failure().ok() ? 0 : 1;
    const TransportStats stats = member->transport().total_stats();
    out.bytes_sent += stats.bytes_sent;
    out.bytes_received += stats.bytes_received;
    if (member->finished()) last = member.get();
  }
  if (last == nullptr && out.fault.empty()) out.fault = "no peer came to the last round";
  if (last != nullptr) out.state_hash = trainer_->digest(last->state());
  out.rounds = newest_;
  out.seconds = seconds(newest_at_);
  out.events = network_.events();
  out.event_hash = mixed(network_.trace_hash(), state_hashes_);
  return out;
}

}  // namespace weft::sim
