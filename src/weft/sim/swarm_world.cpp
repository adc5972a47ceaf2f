#include "weft/sim/swarm_world.h"

#include <algorithm>
#include <cstdio>

#include "weft/sim/local_trainer.h"
#include "weft/wire/fingerprint.h"

namespace weft::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

static constexpr Duration kTicketValid = std::chrono::hours(1);

static SimNetworkOptions network_options(const SwarmWorldOptions& options) {
  SimNetworkOptions net;
  net.seed = options.seed;
  Rng rng(options.seed, 77);
  net.delay_mean = milliseconds(1 + static_cast<std::int64_t>(rng.below(30)));
  if (rng.chance(0.5)) net.bytes_per_second = 200'000 + rng.below(5'000'000);
  return net;
}

// The hash of the state after each of rounds 0 .. rounds.
static std::vector<Hash128> expected(std::size_t elements, std::uint64_t rounds) {
  TestTrainer trainer(elements);
  std::vector<Hash128> hashes{trainer.hash().total};
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    trainer.apply(trainer.shard(0, 1));
    hashes.push_back(trainer.hash().total);
  }
  return hashes;
}

SwarmCoreOptions SwarmWorld::core_options() const {
  SwarmCoreOptions options = swarm_options(options_.rounds);
  options.rounds.reports = true;
  options.rounds.all_reduce.direct_bytes_max = 4 * 1024;
  options.rounds.all_reduce.queue_bytes_max = 512 * 1024;
  // Every second run on lines with delays, where butterflies win.
  if (options_.seed % 2 == 0) options.rounds.all_reduce.link = LinkProfile{};
  if (options_.local_steps > 0) {
    constexpr WirePrecision kWires[] = {WirePrecision::kF32, WirePrecision::kInt8,
                                        WirePrecision::kBf16};
    options.rounds.all_reduce.precision = kWires[options_.seed % 3];
  }
  options.fetch.source_timeout = seconds(3);
  options.result_log_bytes_max = 30 * elements_ * sizeof(float);
  options.start_members = options_.peers;
  options.start_timeout = seconds(15);
  if (options_.stuck) options.compute_timeout = seconds(5);
  if (options_.mesh_members > 0) options.rounds.all_reduce.mesh_members = options_.mesh_members;
  return options;
}

void SwarmWorld::on_event(const SwarmPeer& peer, const SwarmEvent& event) {
  if (event.kind == SwarmEventKind::kRoundRerun) ++report_.reruns;
  if (event.kind == SwarmEventKind::kStateReceived) ++report_.joins;
  if (event.kind == SwarmEventKind::kRemoved &&
      event.text.find("computing for") != event.text.npos) {
    ++report_.overdue;
  }
  if (event.kind == SwarmEventKind::kStateMismatch) fail("mismatch: " + event.text);
  // All peers here follow the rules; one that hears nothing may suspect the others wrongly.
  const bool doubted = event.text.find("false suspicion") != std::string::npos;
  if (event.kind == SwarmEventKind::kMisconduct && !doubted) fail("blamed: " + event.text);
  say(peer.id.short_name() + " " + std::string(to_string(event.kind)) + ": " + event.text);
}

// A round's reports are whole, in order of rank, and the same wherever and however it was learned.
void SwarmWorld::check_reports(const SwarmPeer& peer) {
  const std::uint64_t round = peer.trainer.round();
  // The state came as a whole, or from another branch.
  if (peer.applied_last != round) return;
  const auto [known, fresh] = reported_.try_emplace(round, peer.reports);
  if (known->second != peer.reports) {
    return fail(peer.id.short_name() + ": the reports of round " + std::to_string(round) +
                " differ from another peer's");
  }
  if (!fresh || options_.local_steps > 0) return;
  const auto members = static_cast<int>(peer.reports.size());
  bool whole = members > 0;
  for (int rank = 0; rank < members; ++rank) {
    const Bytes& report = peer.reports[static_cast<std::size_t>(rank)];
    const std::string expected = TestTrainer::report_text(round, rank, members);
    const bool stood_in = options_.late && report.empty();
    whole = whole && (stood_in || std::ranges::equal(report, as_bytes(expected)));
  }
  if (!whole) fail("round " + std::to_string(round) + " has not the reports of its members");
}

void SwarmWorld::on_state(const SwarmPeer& peer) {
  const std::uint64_t round = peer.trainer.round();
  check_reports(peer);
  const ParkingStats links = peer.core->parking();
  report_.parked_max = std::max(report_.parked_max, links.parked);
  report_.connected_max = std::max(report_.connected_max, links.connected);
  if (options_.local_steps > 0 || options_.late) {
    const Hash128 hash = peer.trainer.hash().total;
    if (reached_.try_emplace(round, hash).first->second == hash) return;
    return fail(peer.id.short_name() + ": the state after round " + std::to_string(round) +
                " differs from another peer's");
  }
  if (round < expected_.size() && peer.trainer.hash().total == expected_[round]) return;
  fail(peer.id.short_name() + ": the state after round " + std::to_string(round) + " is wrong");
}

void SwarmWorld::on_pumped(SwarmPeer& peer) {
  if (!*peer.alive) return;
  if (!peer.core->view().members.empty()) check_view(peer.core->view());
  if (!peer.outcome_failure.ok()) fail(peer.describe() + ": " + peer.outcome_failure.to_string());
  if (peer.leaving) {
    // A process ends when it has left, as a real one does.
    if (peer.core->left()) peer.crash(SimCrash::kKilled);
    return;
  }
  if (peer.failure.ok()) return;
  // A newcomer whose ticket names nobody that still lives gives up, as its process would.
  if (peer.failure.code() != Code::kUnavailable) return fail(peer.describe());
  ++report_.gave_up;
  say(peer.describe());
  peer.crash(SimCrash::kKilled);
}

SwarmWorld::SwarmWorld(SwarmWorldOptions options)
    : options_(options), rng_(options.seed, 1), net_(network_options(options)) {
  // Both ways of reducing are covered: up to 1,024 elements go directly.
  elements_ = rng_.chance(0.3) ? 100 + rng_.below(900) : 1500 + rng_.below(9000);
  if (options_.local_steps > 0) {
    local_ = local_recipe(options_.rounds, options_.local_steps, options_.overlap);
    elements_ = LocalTrainer(local_).elements();
    return;
  }
  expected_ = expected(elements_, options_.rounds);
}

SwarmWorld::~SwarmWorld() = default;

void SwarmWorld::say(const std::string& what) const {
  if (!options_.verbose) return;
  const double now = to_seconds(net_.now().time_since_epoch());
  std::printf("%9.3f %s\n", now, what.c_str());  // tidy: allow printf: --verbose asked for it
}

void SwarmWorld::fail(const std::string& what) {
  say("FAULT " + what);
  if (report_.fault.empty()) {
    report_.fault =
        what + " at " + std::to_string(to_seconds(net_.now().time_since_epoch())) + " s";
  }
}

void SwarmWorld::check_view(const View& view) {
  const auto [known, fresh] = views_.try_emplace(view.id.number.value(), view);
  if (fresh) {
    report_.views = std::max(report_.views, view.id.number.value());
  } else if (known->second.id != view.id || known->second.members != view.members ||
             known->second.base_round != view.base_round) {
    fail("two views with number " + std::to_string(view.id.number.value()));
  }
}

// Most are in time, a tenth takes as long as a few rounds.
void SwarmWorld::add_lateness(SwarmPeer::Settings& settings) {
  settings.stand_in = [elements = elements_](const Turn&) {
    StandIn given;
    given.deadline = milliseconds(60);
    given.elements = static_cast<std::int64_t>(elements);
    return given;
  };
  settings.compute = [rng = std::make_shared<Rng>(rng_.next_u64())] {
    const std::uint64_t most = rng->chance(0.1) ? 500 : 40;
    return milliseconds(1 + static_cast<std::int64_t>(rng->below(most)));
  };
}

// One round in a hundred takes much longer than the others wait; nothing interrupts the computing.
void SwarmWorld::add_stuckness(SwarmPeer::Settings& settings, std::uint64_t seed) {
  settings.stand_in = [](const Turn&) { return StandIn(); };
  settings.compute = [rng = std::make_shared<Rng>(seed)]() -> Duration {
    if (rng->chance(0.01)) return seconds(1 + static_cast<std::int64_t>(rng->below(40)));
    return milliseconds(1 + static_cast<std::int64_t>(rng->below(40)));
  };
}

SwarmPeer& SwarmWorld::add_peer(const PeerId& id) {
  SwarmPeer::Settings settings;
  settings.id = id;
  settings.elements = elements_;
  settings.incarnation = static_cast<std::uint64_t>(net_.now().time_since_epoch().count()) + 1;
  settings.seed = rng_.next_u64();
  if (options_.local_steps > 0) {
    settings.make_trainer = [this] { return std::make_unique<LocalTrainer>(local_); };
  }
  settings.compute = [rng = std::make_shared<Rng>(rng_.next_u64())] {
    return milliseconds(1 + static_cast<std::int64_t>(rng->below(40)));
  };
  if (options_.late) add_lateness(settings);
  if (options_.stuck) add_stuckness(settings, rng_.next_u64());
  SwarmCoreOptions core = core_options();
  if (options_.records) {
    MemoryRecord& disk = disks_[id];
    core.records = &disk;
    if (const auto past = VoterRecord::decode(disk.latest); past.ok()) core.membership.past = *past;
  }
  peers_.push_back(std::make_unique<SwarmPeer>(net_, std::move(core), std::move(settings)));
  SwarmPeer& peer = *peers_.back();
  peer.set.on_event = [this, &peer](const SwarmEvent& event) { on_event(peer, event); };
  peer.set.on_state = [this, &peer](const TestTrainer&) { on_state(peer); };
  peer.set.on_pumped = [this, &peer] { on_pumped(peer); };
  return peer;
}

std::vector<SwarmPeer*> SwarmWorld::running() {
  std::vector<SwarmPeer*> out;
  for (const auto& peer : peers_) {
    if (*peer->alive && !peer->leaving) out.push_back(peer.get());
  }
  return out;
}

SwarmPeer* SwarmWorld::random_running() {
  const std::vector<SwarmPeer*> peers = running();
  return peers.empty() ? nullptr : peers[rng_.below(peers.size())];
}

SwarmPeer* SwarmWorld::a_member() {
  for (SwarmPeer* peer : running()) {
    const bool newest = peer->core->view().id.number.value() == report_.views;
    const MembershipState state = peer->core->state();
    const bool waits = state == MembershipState::kIsolated || state == MembershipState::kChanging;
    if (newest && (state == MembershipState::kMember || (options_.records && waits))) return peer;
  }
  return nullptr;
}

void SwarmWorld::start_joiner() {
  SwarmPeer* const member = a_member();
  if (member == nullptr) return;
  const Ticket ticket = member->core->ticket(kTicketValid);
  // A machine that was lost may come back under its old name.
  const std::vector<PeerId> gone = this->gone();
  PeerId id;
  if (!gone.empty() && (options_.records || rng_.chance(0.4))) {
    id = gone[rng_.below(gone.size())];
  } else {
    const Hash256 bytes = sha256(as_bytes(std::string_view("peer " + std::to_string(next_id_++))));
    id.bytes = bytes;
  }
  say(id.short_name() + " starts and joins by " + member->id.short_name());
  add_peer(id).join(ticket);
}

std::vector<PeerId> SwarmWorld::gone() const {
  std::vector<PeerId> out;
  for (const auto& peer : peers_) {
    const bool known = std::ranges::count(out, peer->id) != 0;
    if (!known && !net_.running(peer->id)) out.push_back(peer->id);
  }
  return out;
}

void SwarmWorld::lose(SwarmPeer& victim) {
  const SimCrash how = rng_.chance(0.6) ? SimCrash::kKilled : SimCrash::kPowerLoss;
  say(victim.describe() + (how == SimCrash::kKilled ? ": killed" : ": loses power"));
  victim.crash(how);
  if (!options_.records) return;
  MemoryRecord& disk = disks_[victim.id];
  if (how == SimCrash::kPowerLoss && rng_.chance(0.5)) disk.latest = disk.synced;
}

void SwarmWorld::kill_one() {
  lose(*random_running());
  next_loss_ = net_.now() + seconds(6);
}

// A member of the newest view that has all that was committed.
bool SwarmWorld::holds_the_state(const SwarmPeer& peer) {
  const View& view = peer.core->view();
  return view.id.number.value() == report_.views && view.contains(peer.id) &&
         peer.core->trainer_round() >= view.base_round && peer.round() >= view.base_round;
}

// Any number of peers, but for one from which the run can go on.
void SwarmWorld::kill_many() {
  std::vector<SwarmPeer*> holders;
  for (SwarmPeer* peer : running()) {
    if (holds_the_state(*peer)) holders.push_back(peer);
  }
  if (holders.empty()) return;
  const SwarmPeer* const spared = holders[rng_.below(holders.size())];
  for (SwarmPeer* peer : running()) {
    if (peer != spared && rng_.chance(0.6)) lose(*peer);
  }
  next_loss_ = net_.now() + seconds(8);
}

// All that are gone, one after the other, with what is on their disks.
void SwarmWorld::restart_all() {
  const bool missing = !gone().empty();
  if (missing) start_joiner();
  if (!faults_on_ && !all_finished()) {
    net_.call_at(net_.now() + milliseconds(700), [this] { restart_all(); });
  }
}

void SwarmWorld::partition() {
  std::vector<PeerId> small;
  std::vector<PeerId> large;
  std::vector<SwarmPeer*> peers = running();
  const std::size_t cut = 1 + rng_.below((peers.size() - 1) / 2);
  for (std::size_t i = peers.size() - 1; i > 0; --i) std::swap(peers[i], peers[rng_.below(i + 1)]);
  for (std::size_t i = 0; i < peers.size(); ++i) (i < cut ? small : large).push_back(peers[i]->id);
  say("partition: " + std::to_string(cut) + " of " + std::to_string(peers.size()) + " cut off");
  net_.partition({small, large});
  partitioned_ = true;
  const Duration lasts = milliseconds(300 + static_cast<std::int64_t>(rng_.below(6000)));
  net_.call_at(net_.now() + lasts, [this] {
    say("partition healed");
    net_.unblock_all();
    partitioned_ = false;
    next_loss_ = net_.now() + seconds(12);
  });
}

void SwarmWorld::pause_one() {
  const PeerId id = random_running()->id;
  const Duration lasts = milliseconds(50 + static_cast<std::int64_t>(rng_.below(4000)));
  say(id.short_name() + " is paused");
  net_.pause(id);
  net_.call_at(net_.now() + lasts, [this, id] {
    if (net_.running(id)) net_.resume(id);
  });
  next_loss_ = std::max(next_loss_, net_.now() + lasts + seconds(8));
}

// It hears nothing, or is not heard; the other direction is whole.
void SwarmWorld::deafen_one() {
  const PeerId id = random_running()->id;
  const bool deaf = rng_.chance(0.5);
  say(id.short_name() + (deaf ? " hears nothing" : " is not heard"));
  for (const auto& peer : peers_) {
    if (peer->id != id) deaf ? net_.block(peer->id, id) : net_.block(id, peer->id);
  }
  partitioned_ = true;
  const Duration lasts = milliseconds(300 + static_cast<std::int64_t>(rng_.below(6000)));
  net_.call_at(net_.now() + lasts, [this] {
    say("both ways again");
    net_.unblock_all();
    partitioned_ = false;
    next_loss_ = net_.now() + seconds(12);
  });
}

void SwarmWorld::break_one() {
  const SwarmPeer* const a = random_running();
  const SwarmPeer* const b = random_running();
  if (a == b) return;
  say("the link " + a->id.short_name() + " - " + b->id.short_name() + " breaks");
  net_.break_link(a->id, b->id);
}

void SwarmWorld::leave_one() {
  SwarmPeer* const peer = random_running();
  say(peer->describe() + ": leaves");
  peer->leave();
  next_loss_ = net_.now() + seconds(3);
}

void SwarmWorld::fault() {
  // A majority of the newest view, and never fewer than three, must remain; the peers that were
  // taken away have to be out of the view before the next is.
  const auto newest = views_.find(report_.views);
  std::size_t there = 0;
  for (const SwarmPeer* peer : running()) {
    there += newest != views_.end() && newest->second.contains(peer->id) ? 1 : 0;
  }
  const auto size = newest == views_.end() ? 0 : static_cast<std::size_t>(newest->second.size());
  const bool may_lose = !partitioned_ && net_.now() >= next_loss_ && there >= 4 && there == size;
  const double draw = rng_.uniform();
  if (draw < 0.30) {
    if (running().size() < static_cast<std::size_t>(options_.peers) + 2) start_joiner();
  } else if (draw < 0.45) {
    break_one();
  } else if (options_.records && draw < 0.60 && !partitioned_ && net_.now() >= next_loss_) {
    kill_many();
  } else if (!may_lose) {
    return;
  } else if (draw < 0.70) {
    kill_one();
  } else if (draw < 0.78) {
    partition();
  } else if (draw < 0.84) {
    deafen_one();
  } else if (draw < 0.92) {
    pause_one();
  } else {
    leave_one();
  }
}

void SwarmWorld::schedule_fault() {
  const Duration wait = milliseconds(20 + static_cast<std::int64_t>(rng_.below(1500)));
  net_.call_at(net_.now() + wait, [this] {
    if (!faults_on_) return;
    if (!running().empty()) fault();
    schedule_fault();
  });
}

// Those that are out because they computed may be too late for the end.
int SwarmWorld::least_finished() const { return options_.stuck ? 1 : 3; }

bool SwarmWorld::all_finished() {
  int finished = 0;
  bool all = true;
  bool stranded = true;
  for (const auto& peer : peers_) {
    finished += peer->finished ? 1 : 0;
    if (!*peer->alive) continue;
    all = false;
    const MembershipState state = peer->core->state();
    stranded =
        stranded && (state == MembershipState::kIsolated || state == MembershipState::kJoining ||
                     state == MembershipState::kSyncing);
  }
  // One that was cut off when the others came to the end has nobody left to go on with.
  return all || (stranded && finished >= least_finished());
}

void SwarmWorld::check_learned() {
  if (options_.local_steps == 0) return;
  for (const auto& peer : peers_) {
    if (!peer->finished) continue;
    report_.accuracy = static_cast<const LocalTrainer&>(peer->trainer).accuracy();
    if (report_.accuracy < 0.7) fail("accuracy " + std::to_string(report_.accuracy));
    return;
  }
}

SwarmReport SwarmWorld::run() {
  PeerId id;
  id.bytes = sha256(as_bytes(std::string_view("peer " + std::to_string(next_id_++))));
  add_peer(id).found();
  for (int i = 1; i < options_.peers; ++i) {
    net_.call_at(net_.now() + milliseconds(static_cast<std::int64_t>(rng_.below(800))),
                 [this] { start_joiner(); });
  }
  net_.call_at(net_.now() + seconds(2), [this] { schedule_fault(); });
  net_.call_at(net_.now() + options_.fault_time, [this] {
    say("faults end");
    faults_on_ = false;
    if (options_.records) restart_all();
  });
  const TimePoint limit = net_.now() + options_.fault_time + options_.limit;
  while (report_.fault.empty() && !all_finished() && net_.now() < limit && net_.step()) {
  }
  if (report_.fault.empty() && !all_finished()) {
    std::string who;
    for (const auto& peer : peers_) {
      if (*peer->alive) who += "; " + peer->describe();
    }
    fail("no progress" + who);
  }
  Fingerprint held;
  for (const auto& peer : peers_) {
    report_.finished += peer->finished ? 1 : 0;
    report_.late += peer->core->status().rounds_late;
    held.add(peer->core->fingerprint());
  }
  report_.state_hash = held.finish();
  if (report_.fault.empty() && report_.finished < least_finished()) {
    fail("only " + std::to_string(report_.finished) + " peers finished, " +
         std::to_string(report_.gave_up) + " gave up");
  }
  check_learned();
  report_.trace_hash = net_.trace_hash();
  report_.events = net_.events();
  return report_;
}

}  // namespace weft::sim
