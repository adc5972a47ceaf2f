// SwarmPeer: one simulated machine that trains a TestTrainer, for the tests of this folder and for
// weft/sim.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/status.h"
#include "weft/collective/core/swarm_core.h"
#include "weft/collective/scenario/test_trainer.h"
#include "weft/collective/team/round_plan.h"
#include "weft/net/sim_network.h"
#include "weft/wire/frame_type.h"
#include "weft/wire/parking_message.h"

namespace weft {

inline PeerId swarm_peer_id(std::uint32_t number) {
  return {sha256(as_bytes("swarm peer " + std::to_string(number)))};
}

inline SwarmCoreOptions swarm_options(std::uint64_t last_round) {
  SwarmCoreOptions options;
  MembershipOptions& membership = options.membership;
  membership.run = sha256(as_bytes(std::string_view("run")));
  membership.recipe_hash = sha256(as_bytes(std::string_view("recipe")));
  membership.layout_hash = sha256(as_bytes(std::string_view("layout")));
  membership.invitation_key = sha256(as_bytes(std::string_view("key")));
  membership.recipe_text = "recipe";
  membership.quorum_timeout = std::chrono::seconds(5);
  options.rounds.all_reduce.segment_bytes = 1024;
  options.rounds.all_reduce.bucket_bytes = 8192;
  options.rounds.all_reduce.direct_bytes_max = 256;
  options.rounds.by_host = false;
  // A line without delays: what is not small goes round the ring.
  options.rounds.all_reduce.link = {0, 1e9, 0};
  options.last_round = Round(last_round);
  return options;
}

class SwarmPeer final : public TransportHandler {
 public:
  struct Settings {
    PeerId id;
    std::size_t elements = 3000;
    std::uint64_t incarnation = 1;
    std::uint64_t seed = 77;
    // Told beside the real one.
    std::vector<std::string> more_endpoints = {};
    // From a turn to the first half of the input, and from there to the second.
    std::function<Duration()> compute = [] { return std::chrono::milliseconds(2); };
    // How long it applies a result that comes as a turn; empty: no time.
    std::function<Duration()> apply_takes = nullptr;
    // How long it loads a state.
    Duration load_takes{};
    // Before a round is begun, the state being lent already; not before one that is begun again.
    Duration pause{};
    // Called after each change, if given: with an event, with the state after a round, after all.
    std::function<void(const SwarmEvent& event)> on_event = nullptr;
    std::function<void(const TestTrainer& trainer)> on_state = nullptr;
    std::function<void()> on_pumped = nullptr;
    // Another trainer than the one of whole numbers.
    std::function<std::unique_ptr<TestTrainer>()> make_trainer = nullptr;
    // What a round exchanges, of `elements` in all; empty: one vector of all members.
    RoundPlan plan = {};
    // It gives its part of an exchange once the sums of the one before are here, as a layer does
    // that computes with them; in a round that is run again, as a whole.
    bool one_by_one = false;
    // Called with those sums, as they come before the end of the round.
    std::function<void(std::size_t exchange, std::span<const float> sums)> on_early_sums = nullptr;
    // Called first in a turn to train, if given.
    std::function<void(const Turn& turn)> on_train = nullptr;
    // Asked first in a turn. With it the input is handed over as a whole, after one compute(), and
    // no outcome is looked at before that, as by a thread that computes.
    std::function<StandIn(const Turn& turn)> stand_in = nullptr;
    // It forwards nothing for others (net/parking_transport.h).
    bool drops_packets = false;
  };

  SwarmPeer(SimNetwork& network, SwarmCoreOptions options, Settings settings)
      : net(network),
        set(std::move(settings)),
        id(set.id),
        with_reports(options.rounds.reports),
        transport(network.start(id)),
        own_trainer(set.make_trainer ? set.make_trainer()
                                     : std::make_unique<TestTrainer>(set.elements)),
        trainer(*own_trainer) {
    options.membership.self = id;
    options.membership.incarnation = set.incarnation;
    options.membership.endpoints = transport.endpoints();
    for (const std::string& more : set.more_endpoints) {
      options.membership.endpoints.push_back(more);
    }
    transport.set_handler(*this);
    core = std::make_unique<SwarmCore>(std::move(options), transport, net.clock(), Rng(set.seed));
    net.set_alarm_body(id, [this] {
      core->on_timer();
      pump();
    });
  }
  ~SwarmPeer() override { *alive = false; }
  SwarmPeer(const SwarmPeer&) = delete;
  SwarmPeer& operator=(const SwarmPeer&) = delete;

  void found() {
    core->found();
    core->request_turn();
    pump();
  }
  void join(const Ticket& ticket) {
    core->join(ticket);
    core->request_turn();
    pump();
  }
  void leave() {
    leaving = true;
    core->leave();
    pump();
  }
  Ticket ticket() { return core->ticket(std::chrono::hours(1)); }
  void crash(SimCrash how) {
    *alive = false;
    net.crash(id, how);
  }
  Round round() const { return Round(trainer.round()); }
  bool saw(SwarmEventKind kind) const {
    for (const SwarmEvent& event : events) {
      if (event.kind == kind) return true;
    }
    return false;
  }
  // Whether the training side waits in a round.
  bool in_round() const { return input_ != nullptr; }
  bool saw_failed_outcome() const { return !outcome_failure.ok(); }
  std::string text_of(SwarmEventKind kind) const {
    for (const SwarmEvent& event : events) {
      if (event.kind == kind) return event.text;
    }
    return {};
  }
  std::string describe() const {
    return id.short_name() + " " + std::string(to_string(core->state())) + ", view " +
           std::to_string(core->view().id.number.value()) + " of " +
           std::to_string(core->view().size()) + ", after round " +
           std::to_string(trainer.round()) + ", committed " +
           std::to_string(core->committed().value()) + (finished ? ", finished" : "") +
           (leaving ? ", leaving" : "") + (failure.ok() ? "" : ", " + failure.to_string());
  }

  // --- TransportHandler.
  void on_link_up(const LinkInfo& link) override {
    core->on_link_up(link);
    pump();
  }
  void on_link_down(const PeerId& peer, const Status& why) override {
    downs.push_back(why);
    core->on_link_down(peer, why);
    pump();
  }
  void on_frame(const PeerId& from, Lane lane, const FrameView& frame) override {
    if (set.drops_packets && frame.type == frame_type::kRouted) {
      const Result<RoutedMessage> packet = RoutedMessage::decode(frame.head);
      if (packet.ok() && packet->target != id) return;
    }
    core->on_frame(from, lane, frame);
    pump();
  }
  void on_writable(const PeerId& peer, Lane lane) override {
    core->on_writable(peer, lane);
    pump();
  }
  MutableByteSpan body_destination(const PeerId& from, std::uint8_t type, ByteSpan head,
                                   std::size_t body_bytes) override {
    return core->body_destination(from, type, head, body_bytes);
  }

  SimNetwork& net;
  Settings set;
  PeerId id;
  const bool with_reports;
  SimTransport& transport;
  std::unique_ptr<SwarmCore> core;
  std::unique_ptr<TestTrainer> own_trainer;
  TestTrainer& trainer;
  bool finished = false;
  bool leaving = false;
  // How next() ended, if it did.
  Status failure;
  // The failure of a round that ended neither committed nor aborted.
  Status outcome_failure;
  std::vector<SwarmEvent> events;
  std::vector<Status> downs;
  std::vector<int> members_of_turns;
  // The rounds after which other branches' states were averaged in, and with what weight.
  std::vector<std::pair<std::uint64_t, double>> merges;
  // The round of the first turn to train.
  std::uint64_t first_trained = 0;
  // What the members of the last applied round reported.
  std::vector<Bytes> reports;
  std::uint64_t applied_last = UINT64_MAX;  // none
  // Results that came as a turn and not out of an own round.
  int applied = 0;
  // Set by a test: changes the state before it is hashed.
  std::uint64_t spoil_at_round = 0;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

 private:
  // Does what the core asks for, until it asks for nothing.
  void pump() {
    for (int turns = 0; turns < 64; ++turns) {
      take_events();
      take_early_sums();
      if (auto outcome = core->take_outcome()) waiting_ = std::move(outcome);
      if (waiting_ && !computing_) take(*std::exchange(waiting_, std::nullopt));
      std::optional<Result<Turn>> turn = core->take_turn();
      if (!turn) {
        const auto order = core->take_snapshot_order();
        if (!order) break;
        core->publish_state(order->round, trainer.serialise());
        continue;
      }
      if (!turn->ok()) {
        failure = turn->status();
        break;
      }
      take(**turn);
    }
    take_events();
    if (set.on_pumped) set.on_pumped();
    if (*alive) net.set_alarm(id, core->next_deadline());
  }

  void take_events() {
    for (SwarmEvent& event : core->take_events()) {
      if (set.on_event) set.on_event(event);
      events.push_back(std::move(event));
    }
  }

  void after(Duration delay, std::function<void()> body) {
    net.call_at(net.now() + delay, [here = alive, body = std::move(body)] {
      if (*here) body();
    });
  }

  void take(const Turn& turn) {
    switch (turn.kind) {
      case TurnKind::kLoadState:
        return load(turn);
      case TurnKind::kSnapshot:
        core->publish_state(turn.round, trainer.serialise());
        return core->request_turn();
      case TurnKind::kMerge:
        merges.push_back({turn.round.value(), turn.weight});
        if (const Status done = trainer.merge(turn.state.span(), turn.weight); !done.ok()) {
          failure = done;
        }
        if (set.on_state) set.on_state(trainer);
        return core->request_turn();
      case TurnKind::kApply:
        return take_result(turn);
      case TurnKind::kTrain:
        return train(turn);
      case TurnKind::kFinished:
        finished = true;
        leaving = true;
        core->leave();
        return;
      case TurnKind::kWait:
        return;
    }
  }

  void load(const Turn& turn) {
    const auto done = [this, turn] {
      if (const Status loaded = trainer.load(turn.state.span()); !loaded.ok()) failure = loaded;
      if (set.on_state) set.on_state(trainer);
      core->request_turn();
    };
    if (set.load_takes == Duration()) return done();
    after(set.load_takes, [this, done] {
      done();
      pump();
    });
  }

  void take_result(const Turn& turn) {
    const auto done = [this, turn] {
      ++applied;
      reports = turn.reports;
      apply(turn.round, turn.reduced);
      core->request_turn();
    };
    if (!set.apply_takes) return done();
    after(set.apply_takes(), [this, done] {
      done();
      pump();
    });
  }

  void train(const Turn& turn) {
    members_of_turns.push_back(turn.members);
    if (first_trained == 0) first_trained = turn.round.value();
    if (set.on_train) set.on_train(turn);
    WEFT_CHECK(turn.round.value() == trainer.round() + 1);
    StandIn given = set.stand_in ? set.stand_in(turn) : StandIn();
    // Only as long as the round is open are the inputs alive: a later use of them shows in ASan.
    input_ = std::make_unique<std::vector<float>>(trainer.shard(turn.rank.value(), turn.members));
    input_->resize(set.elements);
    report_ = trainer.report(turn.rank.value(), turn.members);
    core->lend_state(true);
    if (set.stand_in) core->stand_in(turn.view, turn.round, std::move(given));
    teams_.clear();
    for (const ExchangePlan& each : plan().exchanges) {
      teams_.push_back(*Team::derive(turn.view, turn.members, each.purpose));
    }
    rank_ = turn.rank;
    const bool again = std::exchange(begun_last_, turn.round) == turn.round;
    one_by_one_ = set.one_by_one && !again;
    if (again || set.pause == Duration()) return begin(turn.view, turn.round);
    after(set.pause, [this, view = turn.view, round = turn.round] {
      begin(view, round);
      pump();
    });
  }

  RoundPlan plan() const {
    return set.plan.exchanges.empty() ? RoundPlan(static_cast<std::int64_t>(set.elements))
                                      : set.plan;
  }

  // Elements [begin, end) of the input, as far as this peer is in the teams of their exchanges.
  void give(std::size_t begin, std::size_t end) {
    for (std::size_t i = 0; i < teams_.size(); ++i) {
      const auto first = static_cast<std::size_t>(plan().offset(i));
      const std::size_t last = first + static_cast<std::size_t>(plan().exchanges[i].elements);
      const std::size_t from = std::max(begin, first);
      const std::size_t to = std::min(end, last);
      if (from >= to || !teams_[i].contains(rank_)) continue;
      core->contribute(i, static_cast<std::int64_t>(from - first),
                       std::span<const float>(*input_).subspan(from, to - from));
    }
  }

  void begin(const ViewId& view, Round round) {
    core->begin(view, round, plan());
    if (set.stand_in) {
      compute_whole();
    } else if (one_by_one_) {
      give_next(0);
    } else {
      contribute_later(2);
    }
  }

  void compute_whole() {
    computing_ = true;
    after(set.compute(), [this] {
      computing_ = false;
      core->contribute(0, *input_);
      if (with_reports) core->report(report_);
      pump();
    });
  }

  void give_next(std::size_t exchange) {
    const std::uint64_t mine = ++attempts_;
    after(set.compute(), [this, exchange, mine] {
      if (!input_ || attempts_ != mine) return;
      const auto first = static_cast<std::size_t>(plan().offset(exchange));
      give(first, first + static_cast<std::size_t>(plan().exchanges[exchange].elements));
      awaited_exchange_ = exchange;
      if (with_reports && exchange + 1 == teams_.size()) core->report(report_);
      pump();
    });
  }

  void take_early_sums() {
    if (!awaited_exchange_) return;
    const auto sums = core->early_sums(*awaited_exchange_);
    if (!sums) return;
    if (set.on_early_sums) set.on_early_sums(*awaited_exchange_, *sums);
    const std::size_t next = *std::exchange(awaited_exchange_, std::nullopt) + 1;
    if (next < teams_.size()) give_next(next);
  }

  void contribute_later(int parts) {
    const std::uint64_t mine = ++attempts_;
    after(set.compute(), [this, parts, mine] {
      if (!input_ || attempts_ != mine) return;
      const std::size_t half = set.elements / 2;
      if (parts == 2) {
        give(half, set.elements);
        contribute_later(1);
        // Before the last values, or after them.
        if (with_reports && half % 2 == 0) core->report(report_);
      } else {
        give(0, half);
        if (with_reports && half % 2 != 0) core->report(report_);
      }
      pump();
    });
  }

  void take(const RoundOutcome& outcome) {
    input_.reset();
    awaited_exchange_.reset();
    ++attempts_;
    const bool again = outcome.status.ok() || outcome.status.code() == Code::kAborted;
    if (outcome.status.ok()) {
      reports = reports_of(outcome.reports);
      apply(outcome.round, std::as_const(*outcome.values).span());
    }
    if (!again) outcome_failure = outcome.status;
    if (!leaving && again) core->request_turn();
  }

  void apply(Round next, std::span<const float> sums) {
    WEFT_CHECK(next.value() == trainer.round() + 1);
    trainer.hear(reports);
    applied_last = next.value();
    trainer.apply(sums.first(trainer.elements()));
    if (spoil_at_round == next.value()) trainer.spoil_last();
    if (set.on_state) set.on_state(trainer);
    core->applied(next, trainer.hash());
  }

  std::unique_ptr<std::vector<float>> input_;
  Bytes report_;
  std::vector<Team> teams_;
  Rank rank_;
  Round begun_last_;
  bool computing_ = false;
  bool one_by_one_ = false;
  // The exchange whose sums this peer waits for before it gives the next.
  std::optional<std::size_t> awaited_exchange_;
  std::optional<RoundOutcome> waiting_;
  std::uint64_t attempts_ = 0;
};

}  // namespace weft
