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

// What the options of several parts have in common is said once, here: the swarm fills in
// rounds.self and links.self from membership.self, links.mesh_members from rounds.all_reduce, and
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
  // The first round waits for so many members, at most `start_timeout`.
  int start_members = swarm_defaults::kStartMembers;
  Duration start_timeout = swarm_defaults::kStartTimeout;
  bool exit_on_quorum_lost = false;
  // How long the others are waited for once the last round is applied here.
  Duration finish_timeout = std::chrono::seconds(5);
  // And how long newcomers are given the final state, if there are any.
  Duration linger = swarm_defaults::kLinger;
  // A removed peer asks in again so many times without a round in between.
  int rejoins_max = 5;
  // How long a member that still computes its part of a round is waited for, after which the others
  // suspect it; zero and `compute_timeout_first`: see round_times.h.
  Duration compute_timeout{};
  Duration compute_timeout_first = swarm_defaults::kComputeTimeoutFirst;
  // What a round adds to the samples that a state has learned from: the weights of branches.
  std::uint64_t samples_a_round = 1;
};

}  // namespace weft
