// SwarmPeer: one simulated machine that trains, for the tests of this folder.
//
// The "model" is a vector of whole numbers and sample i of round r has the "gradient" of
// toy_gradient(): sums are exact whatever the membership was, so the state after a round has a
// closed form, toy_state(), that every peer must reach at any history of crashes and joins.
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/collective/swarm_core.h"
#include "weft/net/sim_network.h"

namespace weft {

inline constexpr int kToySamples = 24;

inline constexpr std::size_t kToyPeriod = 11;

inline float toy_gradient(std::uint64_t round, int sample, std::size_t element) {
  return static_cast<float>((round * 7 + static_cast<std::uint64_t>(sample) * 3 + element) %
                            kToyPeriod);
}

// The part of the samples that one of `members` computes.
inline std::vector<float> toy_shard(std::uint64_t round, int rank, int members,
                                    std::size_t elements) {
  std::vector<float> sum(elements);
  for (int sample = rank; sample < kToySamples; sample += members) {
    for (std::size_t i = 0; i < std::min(elements, kToyPeriod); ++i) {
      sum[i] += toy_gradient(round, sample, i);
    }
  }
  for (std::size_t i = kToyPeriod; i < elements; ++i) sum[i] = sum[i - kToyPeriod];
  return sum;
}

inline std::vector<float> toy_state(std::uint64_t rounds, std::size_t elements) {
  std::vector<float> state(elements);
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    const std::vector<float> sum = toy_shard(round, 0, 1, elements);
    for (std::size_t i = 0; i < elements; ++i) state[i] += sum[i];
  }
  return state;
}

inline StateHash toy_hash(const std::vector<float>& state) {
  const std::span<const float> values(state);
  const std::size_t half = state.size() / 2;
  StateHash hash;
  hash.total = xxh3_128(as_bytes(values));
  hash.tensors = {{"first", xxh3_128(as_bytes(values.first(half)))},
                  {"second", xxh3_128(as_bytes(values.subspan(half)))}};
  return hash;
}

inline Bytes toy_bytes(const std::vector<float>& state) {
  const ByteSpan bytes = as_bytes(std::span<const float>(state));
  return {bytes.begin(), bytes.end()};
}

inline std::vector<float> toy_from_bytes(ByteSpan bytes) {
  std::vector<float> state(bytes.size() / sizeof(float));
  if (!state.empty()) std::memcpy(state.data(), bytes.data(), bytes.size());
  return state;
}

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
  options.rounds.all_reduce.segment_bytes = 1024;
  options.rounds.all_reduce.bucket_bytes = 8192;
  options.rounds.all_reduce.direct_bytes_max = 256;
  options.last_round = Round(last_round);
  return options;
}

class SwarmPeer final : public TransportHandler {
 public:
  struct Settings {
    std::uint32_t number = 0;
    std::size_t elements = 3000;
    // From a turn to the first half of the input, and from there to the second.
    Duration compute = std::chrono::milliseconds(2);
    std::uint64_t incarnation = 1;
  };

  SwarmPeer(SimNetwork& network, SwarmCoreOptions options, Settings settings)
      : net(network),
        set(settings),
        id(swarm_peer_id(settings.number)),
        transport(network.start(id)),
        state(settings.elements) {
    options.membership.self = id;
    options.membership.incarnation = settings.incarnation;
    options.membership.endpoints = {net.endpoint(id)};
    options.rounds.self = id;
    transport.set_handler(*this);
    core = std::make_unique<SwarmCore>(std::move(options), transport, net.clock(),
                                       Rng(settings.number + 77));
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
  bool saw(SwarmEventKind kind) const {
    for (const SwarmEvent& event : events) {
      if (event.kind == kind) return true;
    }
    return false;
  }
  // Whether the training side waits in a round.
  bool in_round() const { return input != nullptr; }
  bool saw_failed_outcome() const { return !outcome_failure.ok(); }
  std::string text_of(SwarmEventKind kind) const {
    for (const SwarmEvent& event : events) {
      if (event.kind == kind) return event.text;
    }
    return {};
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
  SimTransport& transport;
  std::unique_ptr<SwarmCore> core;
  std::vector<float> state;
  Round round;
  bool finished = false;
  bool leaving = false;
  Status failure;
  // Of a round that ended neither committed nor aborted.
  Status outcome_failure;
  std::vector<SwarmEvent> events;
  std::vector<Status> downs;
  std::vector<int> members_of_turns;
  // Results that came as a turn and not out of an own round.
  int applied = 0;
  // Set by a test: changes the state before it is hashed.
  std::uint64_t spoil_at_round = 0;
  std::shared_ptr<bool> alive = std::make_shared<bool>(true);

 private:
  void pump() {
    for (int turns = 0; turns < 64; ++turns) {
      for (SwarmEvent& event : core->take_events()) events.push_back(std::move(event));
      if (auto outcome = core->take_outcome()) take(*outcome);
      std::optional<Result<Turn>> turn = core->take_turn();
      if (!turn) break;
      if (!turn->ok()) {
        failure = turn->status();
        break;
      }
      take(**turn);
    }
    net.set_alarm(id, core->next_deadline());
  }

  void after(Duration delay, std::function<void()> body) {
    net.call_at(net.now() + delay, [here = alive, body = std::move(body)] {
      if (*here) body();
    });
  }

  void take(const Turn& turn) {
    switch (turn.kind) {
      case TurnKind::kLoadState:
        state = toy_from_bytes(turn.state.span());
        round = turn.round;
        return core->request_turn();
      case TurnKind::kSnapshot:
        core->publish_state(turn.round, toy_bytes(state));
        return core->request_turn();
      case TurnKind::kApply:
        ++applied;
        apply(turn.round, turn.reduced);
        return core->request_turn();
      case TurnKind::kTrain:
        return train(turn);
      case TurnKind::kFinished:
        finished = true;
        core->leave();
        return;
      case TurnKind::kWait:
        return;
    }
  }

  void train(const Turn& turn) {
    members_of_turns.push_back(turn.members);
    // Only as long as the round is open are the inputs alive: a later use of them shows in ASan.
    input = std::make_unique<std::vector<float>>(
        toy_shard(turn.round.value(), turn.rank.value(), turn.members, set.elements));
    core->begin(turn.view, turn.round, static_cast<std::int64_t>(set.elements));
    contribute_later(2, turn.round);
  }

  void contribute_later(int parts, Round of) {
    const std::uint64_t mine = ++attempts;
    after(set.compute, [this, parts, of, mine] {
      if (!input || attempts != mine) return;
      const std::size_t half = set.elements / 2;
      const std::span<const float> values(*input);
      if (parts == 2) {
        core->contribute(static_cast<std::int64_t>(half), values.subspan(half));
        contribute_later(1, of);
      } else {
        core->contribute(0, values.first(half));
      }
      pump();
    });
  }

  void take(const RoundOutcome& outcome) {
    input.reset();
    ++attempts;
    const bool again = outcome.status.ok() || outcome.status.code() == Code::kAborted;
    if (outcome.status.ok()) apply(outcome.round, std::as_const(*outcome.values).span());
    if (!again) outcome_failure = outcome.status;
    if (!leaving && again) core->request_turn();
  }

  void apply(Round next, std::span<const float> sums) {
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += sums[i];
    round = next;
    if (spoil_at_round == next.value()) state.back() += 1;
    core->applied(round, toy_hash(state));
  }

  std::unique_ptr<std::vector<float>> input;
  std::uint64_t attempts = 0;
};

}  // namespace weft
