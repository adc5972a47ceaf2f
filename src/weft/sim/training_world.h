// TrainingWorld: a whole run of many peers in virtual time, in one thread and from one seed.
//
// Peer 0 founds the run, the others join one after the other, so that their ranks are their
// numbers; the first round waits for all of them. What they compute is real and what they send are
// the real frames of the real cores; only time, machines and links are made up: a machine's speed
// in samples a second, and its line (virtual_lines.h). Machines crash and join when the options say
// so.
//
// Bytes are those of frames with their heads, as `weft status` counts them of real links, without
// what TLS, TCP and IP add.
//
// Where it stands: `weft sim` and tests -> here -> SwarmMember, SimNetwork. Threads: one owner.
// Fails: make() as GroupTrainer; run() says in its result what kept peers from the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/net/sim_network.h"
#include "weft/sim/group_trainer.h"
#include "weft/sim/spread.h"
#include "weft/sim/swarm_member.h"
#include "weft/sim/virtual_lines.h"
#include "weft/train/recipe.h"

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
  LineOptions lines{};
  std::vector<WorldCrash> crashes;
  // Each one more peer, at that time.
  std::vector<Spread> joins;
  // Virtual time without any applied round after which the run is abandoned.
  Duration patience = std::chrono::hours(6);
};

// How far the run is, when the first peer has applied a round.
struct WorldRound {
  const SwarmMember& member;
  const Turn& turn;
  const StepReport& report;
  Duration now{};                // virtual, since the beginning
  Duration took{};               // since the round before
  std::uint64_t bytes_sent = 0;  // by all peers, since the beginning
};

struct WorldEvents {
  std::function<void(const WorldRound& round)> on_round = nullptr;
  // Receives the group's events at the running peer with the lowest number.
  std::function<void(const SwarmMember& member, const SwarmEvent& event)> on_event = nullptr;
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
};

class TrainingWorld final : private MemberWatch {
 public:
  static Result<std::unique_ptr<TrainingWorld>> make(const Recipe& recipe, const DataPlaces& places,
                                                     const WorldOptions& options,
                                                     const WorldEvents& events,
                                                     const Trainer::Review& review = {});
  WorldResult run();

  const Trainer& trainer() const { return trainer_->trainer(); }
  const Clock& clock() const { return network_.clock(); }
  // Bytes that a group of `peers` needs at least, for a model of so many elements.
  static double bytes_needed(int peers, std::int64_t elements);

 private:
  TrainingWorld(const Recipe& recipe, WorldOptions options, WorldEvents events);
  void on_round(const SwarmMember& member, const Turn& turn, const StepReport& report) override;
  void on_event(const SwarmMember& member, const SwarmEvent& event) override;

  SwarmMember& add_member();
  void found();
  void join_next(bool first);
  void schedule_faults();
  void crash_one(std::optional<std::size_t> wanted);
  SwarmMember* a_member();
  std::vector<std::size_t> running() const;
  bool all_ended() const;
  void look_for_failures();
  std::uint64_t bytes_sent() const;
  double seconds(TimePoint when) const;
  void say(const std::string& text) const;
  WorldResult result();

  const Recipe recipe_;
  const WorldOptions options_;
  const WorldEvents events_;
  SimNetwork network_;
  VirtualLines lines_;
  Rng rng_;
  std::string run_id_;
  std::unique_ptr<GroupTrainer> trainer_;
  SwarmCoreOptions core_options_;
  std::vector<std::unique_ptr<SwarmMember>> members_;
  std::vector<bool> told_;  // that it runs no more
  int crashed_ = 0;
  // Members that the first round waits for and that are not in yet.
  int to_join_ = 0;
  // Joins of the options that are still to come.
  std::size_t late_joins_ = 0;
  Round newest_;
  TimePoint newest_at_;
  std::map<std::uint64_t, Hash128> states_;
  std::uint64_t state_hashes_ = 0;
  std::string fault_;
};

}  // namespace weft::sim
