// ExploredWorld: a few memberships and what lies between them, as one value that can be copied.
//
// The memberships are the real ones; the network is a queue for each ordered pair; rounds are a
// member that has a result, says so and commits when all have said so. An event is an Action; what
// may happen next is actions(). Each peer has its own clock, which only its proposal timer moves:
// nothing is assumed about the speed of anybody. A killed peer's frames arrive up to any point, and
// then its links break, at each other peer when that one's turn comes. Heartbeats are not frames
// here: a member that lags behind may be told so at any time, and those that live are heard.
// Threads: one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/peer/membership.h"
#include "weft/sim/membership/invariants.h"

namespace weft {

struct ExploreOptions {
  // Members of the first view.
  int members = 3;
  // Peers that are let in and may say at any time that they have caught up.
  int joiners = 0;
  // So often a peer may be killed, suspected by another one that it is alive with, or leave.
  int crashes = 1;
  int suspicions = 0;
  int leaves = 0;
  // So often a member's proposal timer may fire, beyond what it proposes at once on its own news.
  int ballots = 1;
  // And so often all together; 0: no bound but the one above.
  int ballots_in_all = 0;
  // Rounds that are run meanwhile.
  int rounds = 0;
  // 0: all.
  std::uint64_t states_max = 0;
  // Whether each end is followed by a fair continuation that must heal everything.
  bool check_ends = true;
  // Told how many worlds were seen, once in a million.
  std::function<void(std::uint64_t worlds)> progress = nullptr;
};

struct Action {
  enum class Kind : std::uint8_t {
    kDeliver,   // the next frame from b to a
    kLost,      // a's link to b, which was killed, breaks
    kTimer,     // a's proposal timer
    kCaughtUp,  // joiner a says so
    kResult,    // a has the result of its next round
    kFetch,     // a takes over what is committed up to its view's base
    kTold,      // a learns by b that its view is old
    kKilled,
    kSuspect,  // a comes to suspect b
    kLeave,
  };
  Kind kind{};
  int a = 0;
  int b = 0;
};
std::string to_string(const Action& action);

// Rounds as far as membership is concerned.
struct ModelRounds {
  View view;
  Round applied;
  std::uint64_t state = 0;
  std::optional<std::uint64_t> result;
  bool told = false;
  bool frozen = false;
  bool member = false;
  // Bits of the peers that have sent `Done` for round applied + 1 in this view.
  std::uint32_t done = 0;

  RoundStatus status() const { return {result ? applied.next() : applied, {}}; }
  bool behind() const { return member && applied < view.base_round; }
};

struct QueuedFrame {
  std::uint8_t type = 0;
  Bytes head;
  Hash128 hash{};
  // Which view it speaks of, and which ballot it answers.
  ViewId view;
  Ballot ballot;
  PeerId suspect;
};

struct ExploredPeer {
  PeerId id;
  std::shared_ptr<const Membership> membership;
  Hash128 fingerprint{};
  ModelRounds rounds;
  TimePoint now;
  int ballots_left = 0;
  // Peers that it has a link with: bits.
  std::uint32_t links = 0;
  bool alive = true;
  bool left = false;
  bool removed = false;
  bool may_catch_up = false;
};

class ExploredNetwork;

struct ExploredWorld {
  std::vector<ExploredPeer> peers;
  // [from * peers + to]
  std::vector<std::vector<std::shared_ptr<const QueuedFrame>>> queues;
  std::shared_ptr<const Invariants> invariants;
  int crashes_left = 0;
  int suspicions_left = 0;
  int leaves_left = 0;
  int ballots_left = 0;
  std::string fault;

  const std::string& violation() const { return fault.empty() ? invariants->fault() : fault; }
};

// Owns the sinks through which the memberships of all worlds speak, so it must outlive them.
class ExploredNetwork {
 public:
  explicit ExploredNetwork(const ExploreOptions& options);
  ~ExploredNetwork();

  // The members have their view, the joiners are let in; nothing is under way.
  ExploredWorld start();
  std::vector<Action> actions(const ExploredWorld& world) const;
  void act(ExploredWorld& world, const Action& action);
  Hash128 fingerprint(const ExploredWorld& world) const;
  // Everything that is sent arrives, all timers fire in time, nobody dies any more. What is wrong
  // in the end, or nothing.
  std::string heal(ExploredWorld world);

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
