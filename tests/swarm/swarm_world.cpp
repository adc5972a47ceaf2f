#include "swarm_world.h"

#include <algorithm>
#include <cstdio>

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

// One process: a SwarmCore, a trainer, and the driver between them.
class SwarmWorld::Peer final : public TransportHandler {
 public:
  Peer(SwarmWorld& world, const PeerId& id)
      : world_(world), id_(id), trainer_(world.elements_), rng_(world.rng_.next_u64()) {
    SimTransport& transport = world.net_.start(id);
    transport.set_handler(*this);
    core_ = std::make_unique<SwarmCore>(core_options(transport), transport, world.net_.clock(),
                                        Rng(world.rng_.next_u64()));
    world.net_.set_alarm_body(id, [this] {
      core_->on_timer();
      pump();
    });
  }

  void found() {
    core_->found();
    core_->request_turn();
    pump();
  }
  void join(const Ticket& ticket) {
    core_->join(ticket);
    core_->request_turn();
    pump();
  }
  void leave() {
    leaving_ = true;
    core_->leave();
    pump();
  }
  void crash(SimCrash how) {
    alive_ = false;
    world_.net_.crash(id_, how);
  }

  // --- TransportHandler.
  void on_link_up(const LinkInfo& link) override {
    core_->on_link_up(link);
    pump();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    core_->on_link_down(peer, why);
    pump();
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    core_->on_frame(from, lane, frame);
    pump();
  }
  void on_writable(const PeerId& peer, Lane lane) override {
    core_->on_writable(peer, lane);
    pump();
  }
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override {
    return core_->body_destination(from, type, head, body_bytes);
  }

  const PeerId& id() const { return id_; }
  bool alive() const { return alive_; }
  bool leaving() const { return leaving_; }
  bool finished() const { return finished_; }
  std::uint64_t round() const { return trainer_.round(); }
  SwarmCore& core() { return *core_; }
  std::string describe() const {
    return id_.short_name() + " " + std::string(to_string(core_->state())) + " view " +
           std::to_string(core_->view().id.number.value()) + " of " +
           std::to_string(core_->view().size()) + " round " + std::to_string(trainer_.round()) +
           " committed " + std::to_string(core_->committed().value()) +
           (finished_ ? " finished" : "") + (leaving_ ? " leaving" : "");
  }

 private:
  SwarmCoreOptions core_options(const SimTransport& transport) const {
    SwarmCoreOptions options;
    options.membership.self = id_;
    options.membership.incarnation =
        static_cast<std::uint64_t>(world_.net_.now().time_since_epoch().count()) + 1;
    options.membership.endpoints = transport.endpoints();
    options.membership.run = Hash256{7};
    options.membership.layout_hash = Hash256{8};
    options.membership.recipe_hash = Hash256{9};
    options.membership.recipe_text = "simulated";
    options.membership.invitation_key = Hash256{10};
    options.rounds.self = id_;
    options.rounds.all_reduce.segment_bytes = 1024;
    options.rounds.all_reduce.bucket_bytes = 8 * 1024;
    options.rounds.all_reduce.direct_bytes_max = 4 * 1024;
    options.rounds.all_reduce.queue_bytes_max = 512 * 1024;
    options.fetch.source_timeout = seconds(3);
    options.result_log_bytes_max = 30 * world_.elements_ * sizeof(float);
    options.last_round = Round(world_.options_.rounds);
    options.start_members = world_.options_.peers;
    options.start_timeout = seconds(15);
    return options;
  }

  // Does what the core asks for, until it asks for nothing.
  void pump() {
    bool again = true;
    while (again && alive_) {
      again = take_outcome() || take_turn();
    }
    for (const SwarmEvent& event : core_->take_events()) note(event);
    if (!alive_) return;
    if (!core_->view().members.empty()) world_.check_view(core_->view());
    if (leaving_ && core_->left()) return crash(SimCrash::kKilled);
    world_.net_.set_alarm(id_, core_->next_deadline());
  }

  bool take_outcome() {
    std::optional<RoundOutcome> outcome = core_->take_outcome();
    if (!outcome) return false;
    computing_ = false;
    if (outcome->status.ok()) {
      apply(outcome->round, std::as_const(*outcome->values).span());
    } else if (outcome->status.code() != Code::kAborted) {
      world_.fail(id_.short_name() + ": round: " + outcome->status.to_string());
    }
    core_->request_turn();
    return true;
  }

  bool take_turn() {
    std::optional<Result<Turn>> turn = core_->take_turn();
    if (!turn) return false;
    if (!turn->ok()) {
      ended(turn->status());
      return false;
    }
    act(**turn);
    return true;
  }

  void act(const Turn& turn) {
    switch (turn.kind) {
      case TurnKind::kWait:
        break;
      case TurnKind::kLoadState:
        load(turn);
        break;
      case TurnKind::kApply:
        apply(turn.round, turn.reduced);
        break;
      case TurnKind::kSnapshot:
        core_->publish_state(turn.round, trainer_.serialise());
        break;
      case TurnKind::kTrain:
        return train(turn);
      case TurnKind::kFinished:
        finished_ = true;
        world_.say(id_.short_name() + " finished");
        // The process stays a little and ends, as a real one does.
        return leave();
    }
    core_->request_turn();
  }

  void load(const Turn& turn) {
    const Status loaded = trainer_.load(turn.state.span());
    if (!loaded.ok()) return world_.fail("load: " + loaded.to_string());
    ++world_.report_.joins;
    check(turn.round);
  }

  void apply(Round round, std::span<const float> reduced) {
    if (trainer_.round() + 1 != round.value()) {
      return world_.fail(id_.short_name() + " was told to apply round " +
                         std::to_string(round.value()) + " after " +
                         std::to_string(trainer_.round()));
    }
    trainer_.apply(reduced.first(world_.elements_));
    check(round);
    core_->applied(round, {trainer_.hash(), {{"state", trainer_.hash()}}});
  }

  void check(Round round) const {
    if (trainer_.round() != round.value() || trainer_.hash() != world_.expected_[round.value()]) {
      world_.fail(id_.short_name() + ": the state after round " + std::to_string(round.value()) +
                  " is wrong");
    }
  }

  // Computes in two parts, each of which takes a while.
  void train(const Turn& turn) {
    if (turn.round.value() != trainer_.round() + 1) return world_.fail("train: wrong round");
    const int begin = SimTrainer::kGlobalBatch * turn.rank.value() / turn.members;
    const int end = SimTrainer::kGlobalBatch * (turn.rank.value() + 1) / turn.members;
    inputs_ = trainer_.gradient(begin, end);
    const std::vector<float> before = inputs_;
    computing_ = true;
    const std::uint64_t attempt = ++attempt_;
    core_->begin(turn.view, turn.round, static_cast<std::int64_t>(inputs_.size()));
    const std::size_t half = inputs_.size() / 2;
    const auto contribute = [this, attempt](std::size_t from, std::size_t count) {
      if (!alive_ || attempt != attempt_ || !computing_) return;
      core_->contribute(static_cast<std::int64_t>(from),
                        std::span<const float>(inputs_).subspan(from, count));
      pump();
    };
    const Duration first = milliseconds(1 + static_cast<std::int64_t>(rng_.below(40)));
    const Duration second = milliseconds(1 + static_cast<std::int64_t>(rng_.below(40)));
    const TimePoint now = world_.net_.now();
    world_.net_.call_at(now + first, [=, this] { contribute(half, inputs_.size() - half); });
    world_.net_.call_at(now + first + second, [=, this] { contribute(0, half); });
  }

  void ended(const Status& why) {
    if (leaving_ || finished_) return;
    // A newcomer whose ticket names nobody that still lives gives up, as its process would.
    if (why.code() != Code::kUnavailable) {
      return world_.fail(id_.short_name() + " ended: " + why.to_string());
    }
    ++world_.report_.gave_up;
    world_.say(id_.short_name() + " gave up: " + why.to_string());
    crash(SimCrash::kKilled);
  }

  void note(const SwarmEvent& event) {
    if (event.kind == SwarmEventKind::kRoundRerun) ++world_.report_.reruns;
    if (event.kind == SwarmEventKind::kStateMismatch) world_.fail("mismatch: " + event.text);
    world_.say(id_.short_name() + " " + std::string(to_string(event.kind)) + ": " + event.text);
  }

  SwarmWorld& world_;
  PeerId id_;
  SimTrainer trainer_;
  Rng rng_;
  std::unique_ptr<SwarmCore> core_;
  std::vector<float> inputs_;
  std::uint64_t attempt_ = 0;
  bool computing_ = false;
  bool alive_ = true;
  bool leaving_ = false;
  bool finished_ = false;
};

SwarmWorld::SwarmWorld(SwarmWorldOptions options)
    : options_(options), rng_(options.seed, 1), net_(network_options(options)) {
  // Both ways of reducing are covered: up to 1,024 elements go directly.
  elements_ = rng_.chance(0.3) ? 100 + rng_.below(900) : 1500 + rng_.below(9000);
  expected_ = expected(elements_, options_.rounds);
}

SwarmWorld::~SwarmWorld() = default;

void SwarmWorld::say(const std::string& what) const {
  if (!options_.verbose) return;
  std::printf("%9.3f %s\n", to_seconds(net_.now().time_since_epoch()), what.c_str());
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

SwarmWorld::Peer& SwarmWorld::add_peer(const PeerId& id) {
  peers_.push_back(std::make_unique<Peer>(*this, id));
  return *peers_.back();
}

std::vector<SwarmWorld::Peer*> SwarmWorld::running() {
  std::vector<Peer*> out;
  for (const auto& peer : peers_) {
    if (peer->alive() && !peer->leaving()) out.push_back(peer.get());
  }
  return out;
}

SwarmWorld::Peer* SwarmWorld::random_running() {
  const std::vector<Peer*> peers = running();
  return peers.empty() ? nullptr : peers[rng_.below(peers.size())];
}

SwarmWorld::Peer* SwarmWorld::a_member() {
  for (Peer* peer : running()) {
    const bool newest = peer->core().view().id.number.value() == report_.views;
    if (newest && peer->core().state() == MembershipState::kMember) return peer;
  }
  return nullptr;
}

void SwarmWorld::start_joiner() {
  Peer* const member = a_member();
  if (member == nullptr) return;
  const Ticket ticket = member->core().ticket(kTicketValid);
  // A machine that was lost may come back under its old name.
  std::vector<PeerId> gone;
  for (const auto& peer : peers_) {
    if (!net_.running(peer->id())) gone.push_back(peer->id());
  }
  PeerId id;
  if (!gone.empty() && rng_.chance(0.4)) {
    id = gone[rng_.below(gone.size())];
  } else {
    const Hash256 bytes = sha256(as_bytes(std::string_view("peer " + std::to_string(next_id_++))));
    id.bytes = bytes;
  }
  say(id.short_name() + " starts and joins by " + member->id().short_name());
  add_peer(id).join(ticket);
}

void SwarmWorld::kill_one() {
  Peer* const victim = random_running();
  const SimCrash how = rng_.chance(0.6) ? SimCrash::kKilled : SimCrash::kPowerLoss;
  say(victim->describe() + (how == SimCrash::kKilled ? ": killed" : ": loses power"));
  victim->crash(how);
  next_loss_ = net_.now() + seconds(6);
}

void SwarmWorld::partition() {
  std::vector<PeerId> small;
  std::vector<PeerId> large;
  std::vector<Peer*> peers = running();
  const std::size_t cut = 1 + rng_.below((peers.size() - 1) / 2);
  for (std::size_t i = peers.size() - 1; i > 0; --i) std::swap(peers[i], peers[rng_.below(i + 1)]);
  for (std::size_t i = 0; i < peers.size(); ++i)
    (i < cut ? small : large).push_back(peers[i]->id());
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
  const PeerId id = random_running()->id();
  const Duration lasts = milliseconds(50 + static_cast<std::int64_t>(rng_.below(4000)));
  say(id.short_name() + " is paused");
  net_.pause(id);
  net_.call_at(net_.now() + lasts, [this, id] {
    if (net_.running(id)) net_.resume(id);
  });
  next_loss_ = std::max(next_loss_, net_.now() + lasts + seconds(8));
}

void SwarmWorld::break_one() {
  const Peer* const a = random_running();
  const Peer* const b = random_running();
  if (a == b) return;
  say("the link " + a->id().short_name() + " - " + b->id().short_name() + " breaks");
  net_.break_link(a->id(), b->id());
}

void SwarmWorld::leave_one() {
  Peer* const peer = random_running();
  say(peer->describe() + ": leaves");
  peer->leave();
  next_loss_ = net_.now() + seconds(3);
}

void SwarmWorld::fault() {
  // Of the newest view a majority, and never fewer than three, must remain; the peers that were
  // taken away have to be out of the view before the next is.
  const auto newest = views_.find(report_.views);
  std::size_t there = 0;
  for (const Peer* peer : running()) {
    there += newest != views_.end() && newest->second.contains(peer->id()) ? 1 : 0;
  }
  const auto size = newest == views_.end() ? 0 : static_cast<std::size_t>(newest->second.size());
  const bool may_lose = !partitioned_ && net_.now() >= next_loss_ && there >= 4 && there == size;
  const double draw = rng_.uniform();
  if (draw < 0.30) {
    if (running().size() < static_cast<std::size_t>(options_.peers) + 2) start_joiner();
  } else if (draw < 0.45) {
    break_one();
  } else if (!may_lose) {
    return;
  } else if (draw < 0.70) {
    kill_one();
  } else if (draw < 0.82) {
    partition();
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

bool SwarmWorld::all_finished() {
  int finished = 0;
  bool all = true;
  bool stranded = true;
  for (const auto& peer : peers_) {
    finished += peer->finished() ? 1 : 0;
    if (!peer->alive()) continue;
    all = false;
    const MembershipState state = peer->core().state();
    stranded =
        stranded && (state == MembershipState::kIsolated || state == MembershipState::kJoining ||
                     state == MembershipState::kSyncing);
  }
  // One that was cut off when the others came to the end has nobody left to go on with.
  return all || (stranded && finished >= 3);
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
  });
  const TimePoint limit = net_.now() + options_.fault_time + options_.limit;
  while (report_.fault.empty() && !all_finished() && net_.now() < limit && net_.step()) {
  }
  if (report_.fault.empty() && !all_finished()) {
    std::string who;
    for (const auto& peer : peers_) {
      if (peer->alive()) who += "; " + peer->describe();
    }
    fail("no progress" + who);
  }
  for (const auto& peer : peers_) report_.finished += peer->finished() ? 1 : 0;
  if (report_.fault.empty() && report_.finished < 3) {
    fail("only " + std::to_string(report_.finished) + " peers finished, " +
         std::to_string(report_.gave_up) + " gave up");
  }
  report_.trace_hash = net_.trace_hash();
  report_.events = net_.events();
  return report_;
}

}  // namespace weft::sim
