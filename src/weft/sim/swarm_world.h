// SwarmWorld: a run of whole swarms on simulated machines, with faults drawn from one seed.
//
// For a while peers are killed, lose power, are partitioned, pause, lose links, leave and join; a
// majority of every view stays alive, as the protocol asks. Then faults stop, and every peer that
// still runs must reach the last round. Checked all along: one membership for each view number,
// and after each round the state that one machine alone would have had; with local steps, where the
// state depends on who took part, the same state at all members. And after each round the reports
// of all its members by rank, the same at all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/base/hash.h"
#include "weft/base/rng.h"
#include "weft/collective/scenario/test_swarm_peer.h"
#include "weft/net/sim_network.h"
#include "weft/train/recipe/recipe.h"

namespace weft::sim {

struct SwarmWorldOptions {
  std::uint64_t seed = 1;
  int peers = 4;
  std::uint64_t rounds = 250;
  // Faults are drawn until then (virtual time).
  Duration fault_time = std::chrono::seconds(20);
  // After the faults everyone must be done within this.
  Duration limit = std::chrono::seconds(1200);
  // Above 0: a small model with rounds of so many inner steps, in every wire precision by seed.
  std::int64_t local_steps = 0;
  bool overlap = false;
  // Rounds do not wait for members that are late, and now and then one is.
  bool late = false;
  // Peers keep their records, and all but one that has the state may be lost; they come back.
  bool records = false;
  // Now and then a member computes much longer than it is waited for.
  bool stuck = false;
  // A view of more members has no connections between all of them; 0: the default.
  int mesh_members = 0;
  bool verbose = false;
};

// A machine's disk: what was not synced may be lost with the power.
struct MemoryRecord final : RecordKeep {
  bool keep(ByteSpan record, bool durable) override {
    latest.assign(record.begin(), record.end());
    if (durable) synced = latest;
    return true;
  }
  Bytes latest;
  Bytes synced;
};

struct SwarmReport {
  // Empty if all held.
  std::string fault;
  std::uint64_t trace_hash = 0;
  // What the cores of all peers hold in the end (SwarmCore::fingerprint()).
  Hash128 state_hash{};
  std::uint64_t events = 0;
  std::uint64_t views = 0;
  std::uint64_t reruns = 0;
  std::uint64_t joins = 0;
  int finished = 0;
  int gave_up = 0;
  // Members that were removed while they computed.
  std::uint64_t overdue = 0;
  // Parts of rounds that came too late.
  std::uint64_t late = 0;
  // The most parked links and connections that a peer has had after a round.
  std::size_t parked_max = 0;
  std::size_t connected_max = 0;
  // With local steps: of the last state, on the test set.
  double accuracy = 0;
};

class SwarmWorld {
 public:
  explicit SwarmWorld(SwarmWorldOptions options);
  ~SwarmWorld();
  SwarmReport run();

 private:
  SwarmPeer& add_peer(const PeerId& id);
  void add_lateness(SwarmPeer::Settings& settings);
  static void add_stuckness(SwarmPeer::Settings& settings, std::uint64_t seed);
  SwarmCoreOptions core_options() const;
  void on_event(const SwarmPeer& peer, const SwarmEvent& event);
  void on_state(const SwarmPeer& peer);
  void check_reports(const SwarmPeer& peer);
  void check_learned();
  // Ends the process of a peer that has left or cannot go on.
  void on_pumped(SwarmPeer& peer);
  void start_joiner();
  void schedule_fault();
  void fault();
  void kill_one();
  void lose(SwarmPeer& victim);
  void kill_many();
  void restart_all();
  std::vector<PeerId> gone() const;
  bool holds_the_state(const SwarmPeer& peer);
  void partition();
  void pause_one();
  void deafen_one();
  void break_one();
  void leave_one();
  // Peers of the newest view that still run and are in no minority partition.
  std::vector<SwarmPeer*> running();
  SwarmPeer* random_running();
  // A member that everyone can reach, to make tickets.
  SwarmPeer* a_member();
  bool all_finished();
  int least_finished() const;
  void check_view(const View& view);
  void fail(const std::string& what);
  void say(const std::string& what) const;

  const SwarmWorldOptions options_;
  Rng rng_;
  SimNetwork net_;
  std::size_t elements_;
  std::vector<Hash128> expected_;
  Recipe local_;
  // With local steps: the state after each round, as the first peer had it.
  std::map<std::uint64_t, Hash128> reached_;
  // What the members of each round reported, as the first peer that applied it was told.
  std::map<std::uint64_t, std::vector<Bytes>> reported_;
  std::map<PeerId, MemoryRecord> disks_;
  std::vector<std::unique_ptr<SwarmPeer>> peers_;
  std::map<std::uint64_t, View> views_;
  std::uint64_t next_id_ = 0;
  bool faults_on_ = true;
  bool partitioned_ = false;
  // No peer may be taken away before the group has settled after the last one.
  TimePoint next_loss_{};
  SwarmReport report_;
};

}  // namespace weft::sim
