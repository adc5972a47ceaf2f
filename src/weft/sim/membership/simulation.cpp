#include "weft/sim/membership/simulation.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "weft/sim/membership/former_member.h"
#include "weft/sim/membership/sim_peer.h"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The peers, and what is done to them.
class Simulation {
 public:
  explicit Simulation(const SimulationOptions& options)
      : options_(options), world_(options_, network_options(options)) {
    world_.round_interval = milliseconds(options.peers > 16 ? 2000 : 60);
    start_of_faults_ = TimePoint() + options.forming;
    end_of_faults_ = start_of_faults_ + options.faults;
    end_ = end_of_faults_ + options.quiet;
    if (options.merge) end_ += options.quiet * 3;
  }

  SimulationResult run();

 private:
  struct Slot {
    PeerId id;
    std::uint64_t incarnation = 0;
    std::unique_ptr<SimPeer> peer;
    bool paused = false;
    // It was told to go.
    bool leaving = false;
  };

  static SimNetworkOptions network_options(const SimulationOptions& options) {
    SimNetworkOptions network;
    network.seed = options.seed;
    return network;
  }

  void start(std::size_t i);
  void join_later(std::size_t i, TimePoint when);
  void tick();
  void fault();
  void crash_one();
  void crash(std::size_t i);
  bool one_holds_the_state(std::size_t without) const;
  void restart_one();
  void leave_one();
  void pause_one();
  void block_one();
  void cut();
  void slow_one();
  void heal();
  void disturb();
  bool may_lose(std::size_t i) const;
  std::optional<Ticket> any_ticket();
  std::string check_progress(SimulationResult& result);
  std::string check_one_branch();
  View newest() const;
  bool up(std::size_t i) const { return slots_[i].peer && !slots_[i].paused; }
  std::size_t pick() { return static_cast<std::size_t>(world_.rng.below(slots_.size())); }
  Duration some(double least, double most) {
    return from_seconds(least + (most - least) * world_.rng.uniform());
  }
  TimePoint now() const { return world_.net.now(); }

  const SimulationOptions options_;
  SimWorld world_;
  std::vector<Slot> slots_;
  // Dead lives: the network may still hold events that name them.
  std::vector<std::unique_ptr<SimPeer>> graveyard_;
  std::unique_ptr<FormerMember> former_;
  bool renewed_ = false;
  TimePoint start_of_faults_;
  TimePoint end_of_faults_;
  TimePoint end_;
  TimePoint next_fault_;
  bool cut_ = false;
  std::uint64_t faults_ = 0;
};

void Simulation::start(std::size_t i) {
  Slot& slot = slots_[i];
  MembershipOptions options = test_membership(slot.id);
  options.incarnation = slot.incarnation += 100;
  if (options_.records) {
    // A clock that was set back.
    if (world_.rng.chance(0.3)) options.incarnation = 1 + world_.rng.below(slot.incarnation);
    const Result<VoterRecord> past = VoterRecord::decode(world_.disks[slot.id].record);
    if (past.ok()) options.past = *past;
  }
  options.joins_at_once = std::max(2, options_.peers / 2);
  options.on_split = options_.merge ? SplitPolicy::kMerge : SplitPolicy::kPause;
  options.join_timeout = seconds(8);
  options.split_after = seconds(2);
  options.merge_timeout = seconds(15);
  slot.paused = slot.leaving = false;
  slot.peer = std::make_unique<SimPeer>(world_, std::move(options));
}

std::optional<Ticket> Simulation::any_ticket() {
  std::vector<const SimPeer*> members;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!up(i)) continue;
    const MembershipState state = slots_[i].peer->state();
    const bool waits = state == MembershipState::kIsolated || state == MembershipState::kChanging;
    if (state == MembershipState::kMember || (options_.records && waits)) {
      members.push_back(slots_[i].peer.get());
    }
  }
  if (members.empty()) return std::nullopt;
  return members[world_.rng.below(members.size())]->ticket();
}

void Simulation::join_later(std::size_t i, TimePoint when) { slots_[i].peer->join_at = when; }

// A former member is let in and leaves, the key is renewed, and it begins to lie.
void Simulation::disturb() {
  SimPeer& liar = former_->peer();
  if (liar.state() == MembershipState::kOutside && now() >= TimePoint() + seconds(1)) {
    if (const auto ticket = any_ticket()) liar.join(*ticket);
  } else if (liar.state() == MembershipState::kMember && now() >= start_of_faults_ - seconds(1)) {
    liar.leave();
  }
  if (!liar.left) return;
  if (!renewed_) {
    const auto member = std::find_if(slots_.begin(), slots_.end(), [](const Slot& slot) {
      return slot.peer && slot.peer->state() == MembershipState::kMember;
    });
    renewed_ = member != slots_.end() && member->peer->revoke(kAllInvitations).ok();
    return;
  }
  const std::size_t i = pick();
  if (up(i)) former_->attack(*slots_[i].peer);
}

// Lets those join who want to.
void Simulation::tick() {
  if (former_) disturb();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!up(i) || now() < slots_[i].peer->join_at) continue;
    std::optional<Ticket> ticket;
    ticket.swap(slots_[i].peer->own_ticket);
    if (!ticket || ticket->members.empty()) ticket = any_ticket();
    if (!ticket) continue;
    slots_[i].peer->join_at = TimePoint::max();
    slots_[i].peer->join(*ticket);
  }
  if (now() >= next_fault_ && now() < end_of_faults_) {
    fault();
    next_fault_ = now() + some(0.05, options_.peers > 16 ? 1.2 : 2.5);
  }
}

// Whether the newest view keeps a quorum with its state if `i` loses its own.
bool Simulation::may_lose(std::size_t i) const {
  if (options_.merge) {
    // One that stands still may have been put out meanwhile.
    return std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) {
             return s.peer && !s.paused && s.peer->state() == MembershipState::kMember;
           }) > 2;
  }
  if (options_.records) return one_holds_the_state(i);
  const View& view = world_.invariants.newest();
  int alive = 0;
  bool tie = view.size() == 1;
  for (std::size_t j = 0; j < slots_.size(); ++j) {
    const Slot& slot = slots_[j];
    if (j == i || !slot.peer) continue;
    const Member* member = view.find(slot.id);
    if (member == nullptr || member->incarnation != slot.peer->incarnation()) continue;
    ++alive;
    if (view.size() == 2) tie = tie_breaker(test_membership(slot.id).run, view) == slot.id;
  }
  if (view.size() <= 2) return tie && alive > 0;
  return alive >= view.quorum();
}

// With records quorums come back with the machines, but what nobody has is lost.
bool Simulation::one_holds_the_state(std::size_t without) const {
  const View& view = world_.invariants.newest();
  for (std::size_t j = 0; j < slots_.size(); ++j) {
    const Slot& slot = slots_[j];
    if (j == without || !slot.peer || slot.leaving) continue;
    const MembershipState state = slot.peer->state();
    const bool active = state == MembershipState::kMember || state == MembershipState::kChanging ||
                        state == MembershipState::kIsolated;
    if (active && slot.peer->view() == view && slot.peer->holds_state()) return true;
  }
  return false;
}

void Simulation::crash_one() {
  // With records several at once, now and then.
  const std::uint64_t most = options_.records && world_.rng.chance(0.4) ? slots_.size() : 1;
  for (std::uint64_t k = 0; k < most; ++k) crash(pick());
}

void Simulation::crash(std::size_t i) {
  if (!slots_[i].peer || !may_lose(i)) return;
  const SimCrash how = world_.rng.chance(0.5) ? SimCrash::kKilled : SimCrash::kPowerLoss;
  say(world_, slots_[i].id, how == SimCrash::kKilled ? "--- killed" : "--- power lost");
  world_.net.crash(slots_[i].id, how);
  SimWorld::Disk& disk = world_.disks[slots_[i].id];
  const bool torn = options_.records && how == SimCrash::kPowerLoss;
  if (torn && world_.rng.chance(0.5)) disk.record = disk.synced;
  graveyard_.push_back(std::move(slots_[i].peer));
}

void Simulation::restart_one() {
  const std::size_t first = pick();
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    const std::size_t i = (first + k) % slots_.size();
    if (slots_[i].peer) continue;
    start(i);
    say(world_, slots_[i].id, "--- started again");
    join_later(i, now());
    return;
  }
}

void Simulation::leave_one() {
  const std::size_t i = pick();
  if (!up(i) || slots_[i].peer->state() != MembershipState::kMember || !may_lose(i)) return;
  say(world_, slots_[i].id, "--- leaves");
  slots_[i].leaving = true;
  slots_[i].peer->leave();
}

void Simulation::pause_one() {
  const std::size_t i = pick();
  if (!up(i)) return;
  say(world_, slots_[i].id, "--- stopped for a while");
  slots_[i].paused = true;
  world_.net.pause(slots_[i].id);
  const std::uint64_t life = slots_[i].incarnation;
  world_.net.call_at(now() + some(0.1, 6), [this, i, life] {
    if (slots_[i].incarnation != life || !slots_[i].peer || !slots_[i].paused) return;
    slots_[i].paused = false;
    world_.net.resume(slots_[i].id);
  });
}

void Simulation::block_one() {
  const PeerId from = slots_[pick()].id;
  const PeerId to = slots_[pick()].id;
  if (from == to || cut_) return;
  say(world_, from, "--- blocked towards " + to.short_name());
  world_.net.block(from, to);
  world_.net.call_at(now() + some(0.1, 5), [this, from, to] {
    if (!cut_) world_.net.unblock(from, to);
  });
}

void Simulation::cut() {
  if (cut_) return;
  cut_ = true;
  std::vector<std::vector<PeerId>> groups(2 + world_.rng.below(2));
  const double first = world_.rng.uniform();
  for (const Slot& slot : slots_) {
    const bool in_first = world_.rng.uniform() < first;
    groups[in_first ? 0 : 1 + world_.rng.below(groups.size() - 1)].push_back(slot.id);
  }
  for (const auto& group : groups) {
    if (!group.empty()) {
      say(world_, group.front(), "--- cut off with " + std::to_string(group.size() - 1));
    }
  }
  world_.net.partition(groups);
  world_.net.call_at(now() + some(0.5, 9), [this] {
    world_.net.unblock_all();
    cut_ = false;
    say(world_, PeerId(), "--- healed");
  });
}

void Simulation::slow_one() {
  const PeerId id = slots_[pick()].id;
  say(world_, id, "--- slow");
  world_.net.set_slowness(id, 5 + 300 * world_.rng.uniform());
  world_.net.call_at(now() + some(0.5, 4), [this, id] { world_.net.set_slowness(id, 1); });
}

void Simulation::fault() {
  ++faults_;
  const double kind = world_.rng.uniform();
  if (kind < 0.2) {
    crash_one();
  } else if (kind < 0.45) {
    restart_one();
  } else if (kind < 0.5) {
    leave_one();
  } else if (kind < 0.6) {
    pause_one();
  } else if (kind < 0.7) {
    block_one();
  } else if (kind < 0.78) {
    cut();
  } else if (kind < 0.9) {
    world_.net.break_link(slots_[pick()].id, slots_[pick()].id);
  } else {
    slow_one();
  }
}

void Simulation::heal() {
  say(world_, PeerId(), "--- faults end");
  world_.net.unblock_all();
  cut_ = false;
  for (Slot& slot : slots_) {
    world_.net.set_slowness(slot.id, 1);
    if (slot.peer && slot.paused) world_.net.resume(slot.id);
    slot.paused = false;
  }
  for (std::size_t i = 0; options_.records && i < slots_.size(); ++i) {
    if (slots_[i].peer) continue;
    start(i);
    join_later(i, now() + some(0.01, 3));
  }
}

// The newest view of those that live; what the dead alone knew is lost with them.
View Simulation::newest() const {
  View newest;
  for (const Slot& slot : slots_) {
    if (!slot.peer || slot.peer->left) continue;
    const MembershipState state = slot.peer->state();
    const bool active = state == MembershipState::kMember || state == MembershipState::kChanging ||
                        state == MembershipState::kIsolated;
    if (active && slot.peer->view().id > newest.id) newest = slot.peer->view();
  }
  return newest;
}

std::string Simulation::check_progress(SimulationResult& result) {
  if (options_.merge) return check_one_branch();
  const View newest = this->newest();
  int voters = 0;
  bool tie = false;
  for (const Slot& slot : slots_) {
    const Member* member = newest.find(slot.id);
    if (!slot.peer || slot.peer->left || member == nullptr) continue;
    if (member->incarnation != slot.peer->incarnation()) continue;
    ++voters;
    tie = tie || newest.size() == 1 ||
          (newest.size() == 2 && tie_breaker(test_membership(slot.id).run, newest) == slot.id);
  }
  result.quorum_lost = voters < newest.quorum() && !tie && !options_.records;
  if (result.quorum_lost) return "";
  for (const Slot& slot : slots_) {
    if (!slot.peer || slot.peer->left) continue;
    const std::string who = "peer " + slot.id.short_name() + " is ";
    if (slot.peer->state() != MembershipState::kMember) {
      return who + std::string(to_string(slot.peer->state())) + " long after the faults ended";
    }
    if (slot.peer->view() != newest) return who + "not in the newest view";
    if (end_ - slot.peer->last_commit > options_.quiet / 2) {
      return who + "stuck after round " + std::to_string(slot.peer->applied().value());
    }
  }
  return "";
}

std::string Simulation::check_one_branch() {
  const SimPeer* first = nullptr;
  for (const Slot& slot : slots_) {
    if (!slot.peer || slot.peer->left) continue;
    const std::string who = "peer " + slot.id.short_name() + " is ";
    if (slot.peer->state() != MembershipState::kMember) {
      return who + std::string(to_string(slot.peer->state())) + " long after the faults ended";
    }
    if (first == nullptr) first = slot.peer.get();
    if (slot.peer->view() != first->view()) {
      return who + "in another view than peer " + first->id.short_name();
    }
    if (end_ - slot.peer->last_commit > options_.quiet / 2) {
      return who + "stuck after round " + std::to_string(slot.peer->applied().value());
    }
  }
  return "";
}

SimulationResult Simulation::run() {
  for (int i = 0; i < options_.peers; ++i) {
    slots_.push_back({test_peer_id(static_cast<std::uint32_t>(i)), 0, nullptr, false, false});
    start(slots_.size() - 1);
    join_later(slots_.size() - 1, TimePoint() + some(0.01, 2));
  }
  slots_[0].peer->join_at = TimePoint::max();
  slots_[0].peer->found();
  if (options_.hostile) former_ = std::make_unique<FormerMember>(world_, test_peer_id(10'000));
  next_fault_ = start_of_faults_;
  bool healed = false;
  while (now() < end_ && world_.invariants.ok()) {
    world_.net.run_until(now() + milliseconds(50));
    if (!healed && now() >= end_of_faults_) {
      healed = true;
      heal();
    }
    tick();
    // Whoever left is gone; its machine may start again.
    for (Slot& slot : slots_) {
      if (!slot.peer || !slot.peer->left || now() >= end_of_faults_) continue;
      world_.net.crash(slot.id, SimCrash::kKilled);
      graveyard_.push_back(std::move(slot.peer));
    }
  }
  SimulationResult result;
  result.fault = world_.invariants.fault();
  if (result.fault.empty()) result.fault = check_progress(result);
  result.trace_hash = world_.net.trace_hash();
  result.events = world_.net.events();
  result.views = world_.invariants.views();
  result.rounds = world_.invariants.newest_round().value();
  result.faults = faults_;
  result.branches = world_.invariants.branches();
  result.merges = world_.invariants.merges();
  return result;
}

}  // namespace

SimulationResult simulate(const SimulationOptions& options) { return Simulation(options).run(); }

}  // namespace weft
