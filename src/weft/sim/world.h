// World: a whole run of many peers in virtual time, in one thread and from one seed.
//
// What peers compute is real and what they send are the real frames of the real cores; only time,
// machines and links are made up: a machine's speed in samples a second, and its line
// (virtual_links.h). Machines crash and join when the options say so.
//
// Bytes are those of frames with their heads, as `weft status` counts them of real links, without
// what TLS, TCP and IP add.
//
// Where it stands: `weft sim` and tests -> here; TrainingWorld and GossipWorld are the two kinds.
// Threads: one owner. Fails: make_world() as Trainer::make(); run() says in its result what kept
// peers from the end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/rng.h"
#include "weft/base/status.h"
#include "weft/net/identity.h"
#include "weft/net/sim_network.h"
#include "weft/sim/liar/liar.h"
#include "weft/sim/machine/disruption.h"
#include "weft/sim/machine/machine_trace.h"
#include "weft/sim/machine/spread.h"
#include "weft/sim/machine/virtual_links.h"
#include "weft/sim/machine/virtual_peer.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/run/trainer.h"

namespace weft::sim {

struct WorldCrash {
  // From 0; nothing: one is drawn of those that run then.
  std::optional<std::size_t> peer;
  Spread at_seconds;
};

struct WorldOptions {
  int peers = 1;
  std::uint64_t seed = 1;
  Spread samples_per_second{{1000}, false};
  LinkOptions links{};
  std::vector<WorldCrash> crashes;
  // Each one more peer, at that time.
  std::vector<Spread> joins;
  // Peers of the beginning that leave and come: at drawn times, and at those of a trace. Members of
  // a method of loose exchange come back with the model that they had; for others a new peer comes.
  Churn churn{};
  std::vector<MachineEvent> trace;
  // In place of samples_per_second, for some.
  std::vector<MachineSpeed> speeds;
  // For methods of loose exchange.
  std::vector<Disruption> disruptions;
  // Public keys by which the first peers are called; the others' are drawn. For peers that gossip.
  std::vector<PublicKey> keys;
  // The peers that lie, and how.
  LiarOptions liars{};
  // Virtual time without any applied round after which the run is abandoned.
  Duration patience = std::chrono::hours(6);
};

// How far the run is: when the first peer has applied a round of a group that agrees, and when the
// last running peer has, where each goes on by itself.
struct WorldRound {
  Round round;
  int members = 0;
  const StepReport& report;
  // The hash of the state after the round, or of all peers' states if each has its own.
  Hash128 state{};
  Duration now{};                // virtual, since the beginning
  Duration took{};               // since the round before
  std::uint64_t bytes_sent = 0;  // by all peers, since the beginning
};

struct WorldEvents {
  std::function<void(const WorldRound& round)> on_round = nullptr;
  // Receives the group's events at the running peer with the lowest number.
  std::function<void(const SwarmEvent& event)> on_event = nullptr;
  // A crash, a newcomer, a peer that goes on no more.
  std::function<void(const std::string& text)> on_news = nullptr;
  // Asked now and then: true ends the run.
  std::function<bool()> stop_asked = nullptr;
};

struct WorldResult {
  bool stopped = false;  // as stop_asked() wanted
  // Why the run did not come to its end, or what peers disagree in; empty: it did.
  std::string fault;
  int finished = 0;
  int crashed = 0;
  int failed = 0;
  Round rounds;
  double seconds = 0;  // virtual
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t events = 0;
  // Over every event and the state after each round; the same for the same recipe, options and
  // seed, whatever the number of threads and the build.
  std::uint64_t event_hash = 0;
  // SHA-256 of the final state, as summary.json of a run has it; empty where nobody came to it.
  std::string state_hash;
  // In gossip: who came to the end, with the SHA-256 of its own state. `state_hash` is over these.
  struct Member {
    PeerId id;
    std::string state;
  };
  std::vector<Member> members;
  // In gossip: of the honest members' parameters from their mean, root mean square, over its norm.
  std::optional<double> distance;
  // Where each member has a model of its own and they are few: the mean of their accuracies.
  std::optional<double> members_accuracy;
  // With an attack on data: the share of the test set's attacked samples that the result takes for
  // what the attack wants.
  std::optional<double> attack_rate;
  // After disruptions, where neighbours mix and are few: the connected parts of the graph that is
  // left, the largest first, each with its members' mean accuracy.
  struct Component {
    std::size_t members = 0;
    double accuracy = 0;
  };
  std::vector<Component> components;
  // In gossip: how the mean of the honest peers' parameters does on the test set, if the recipe
  // evaluates.
  std::optional<RoundReport> mean_model;
};

class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  WorldResult run();

  virtual const Trainer& trainer() const = 0;
  const Clock& clock() const { return network_.clock(); }
  // Bytes that a run of `peers` needs at least, for a model of so many elements.
  static double bytes_needed(int peers, std::int64_t elements);

 protected:
  World(WorldOptions options, WorldEvents events);

  // The peers of the beginning, and one more.
  virtual void start() = 0;
  virtual void join_late() = 0;
  // Peer `number` of the beginning, which has left, is there again, in place of a new peer.
  virtual bool comes_back(std::size_t /*number*/) { return false; }
  virtual bool may_leave(std::size_t /*number*/) const { return true; }
  virtual bool ended() const = 0;
  // What this kind knows of the end: rounds, the state.
  virtual void fill(WorldResult& result) = 0;

  // Its machine has just started. Returns its number, from 0.
  std::size_t add(std::unique_ptr<VirtualPeer> peer);
  // The same machine, which was started again.
  void replace(std::size_t index, std::unique_ptr<VirtualPeer> peer);
  std::size_t size() const { return peers_.size(); }
  const VirtualPeer& peer(std::size_t index) const { return *peers_[index]; }
  std::vector<std::size_t> running() const;
  double speed_of(std::size_t index) const;
  // Nothing where that peer is honest.
  std::optional<Liar> liar(std::size_t index) const;
  void crash_one(std::optional<std::size_t> wanted);
  // Draws that repeat with the seed: what a peer, a run or a key is called.
  Hash256 seeded_hash(const char* what, std::size_t number) const;

  // A round is over: the patience begins anew.
  void on_applied(Round round, const Hash128& state);
  void show(Round round, int members, const StepReport& report, const Hash128& state);
  void say(const std::string& text) const;
  void set_fault(std::string fault);

  SimNetwork& network() { return network_; }
  Rng& rng() { return rng_; }
  const WorldOptions& options() const { return options_; }
  const WorldEvents& events() const { return events_; }

 private:
  void schedule_faults();
  void schedule_trace();
  void schedule_churn(std::size_t number, bool is_there);
  void leave(std::size_t number);
  void come(std::size_t number);
  void look_for_failures();
  std::uint64_t bytes_sent() const;
  WorldResult result();

  const WorldOptions options_;
  const WorldEvents events_;
  SimNetwork network_;
  VirtualLinks lines_;
  Rng rng_;
  std::vector<std::unique_ptr<VirtualPeer>> peers_;
  std::vector<bool> told_;  // that it runs no more
  // What a machine was before it was started again: events may still refer to it.
  std::vector<std::unique_ptr<VirtualPeer>> former_;
  std::vector<Rng> churn_draws_;    // of each peer of the beginning
  std::vector<std::size_t> lives_;  // which peer each of them is now
  std::vector<double> speeds_;      // by number; 0: options_ say it
  int crashed_ = 0;
  Round newest_;
  TimePoint newest_at_;
  TimePoint shown_at_;
  std::uint64_t state_hashes_ = 0;
  std::string fault_;
};

// The kind that the recipe's group.exchange names.
Result<std::unique_ptr<World>> make_world(const Recipe& recipe, const DataPlaces& places,
                                          const WorldOptions& options, const WorldEvents& events,
                                          const Trainer::Review& review = {});

}  // namespace weft::sim
