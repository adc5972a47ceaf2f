// SwarmCoreOptions: what a SwarmCore and its parts are set to.
//
// Threads: values. Fails: never.
#pragma once

#include <cstdint>

#include "weft/base/time.h"
#include "weft/collective/link/link_rates.h"
#include "weft/collective/reduce/swarm_defaults.h"
#include "weft/collective/round/round_core.h"
#include "weft/collective/state/state_fetch.h"
#include "weft/peer/membership.h"
#include "weft/wire/ids.h"

namespace weft {

// Settings that several parts share are stated once, here: the swarm fills in rounds.self and
// links.self from membership.self, links.mesh_members from rounds.all_reduce, and
// fetch.elements_max from vector_elements_max. A driver that has set one of them to something else
// has a bug (WEFT_CHECK).
struct SwarmCoreOptions {
  MembershipOptions membership;
  RoundCoreOptions rounds;
  StateFetchOptions fetch;
  LinkRatesOptions links;
  std::uint64_t result_log_bytes_max = swarm_defaults::kResultLogBytesMax;
  std::int64_t vector_elements_max = swarm_defaults::kVectorElementsMax;
  // 0: never finished.
  Round last_round;
  Round resume_round;
  // A founder that resumes takes the newest state that one of its first members holds.
  bool gather_states = false;
  // The training side of a joiner holds the state after this round, from a checkpoint; 0: none.
  Round held_round;
  // The run that this state, or the one that a founder resumes from, is of; zeros: not known.
  RunId held_run{};
  // Where the membership's record is kept; null: nowhere. Borrowed.
  RecordKeep* records = nullptr;
  // The first round waits for this many members, at most `start_timeout`.
  int start_members = swarm_defaults::kStartMembers;
  Duration start_timeout = swarm_defaults::kStartTimeout;
  bool exit_on_quorum_lost = false;
  // How long this member waits for the others once it has applied the last round.
  Duration finish_timeout = std::chrono::seconds(5);
  // How long the final state is served to newcomers after that, if there are any.
  Duration linger = swarm_defaults::kLinger;
  // How often a removed peer joins again without a round in between.
  int rejoins_max = 5;
  // How long the others wait for a member that still computes its part of a round before they
  // suspect it; zero and `compute_timeout_first`: see round_times.h.
  Duration compute_timeout{};
  Duration compute_timeout_first = swarm_defaults::kComputeTimeoutFirst;
  // How many samples a round adds to those that a state has learned from; branches are weighted by
  // them.
  std::uint64_t samples_a_round = 1;
};

}  // namespace weft
