// Simulation: one run of many memberships under faults, all drawn from one seed.
//
// Peers join, rounds are run, and for a while machines crash, lose power, stop and go on, come
// back as new lives, leave; links break, one direction is blocked, groups are cut apart, lines
// become slow. Then the faults end, and after a quiet time the run must go on: every peer that is
// up is a member of the newest view, and rounds are committed.
// Threads: one owner; simulations share nothing.
#pragma once

#include <cstdint>
#include <string>

#include "weft/base/time.h"

namespace weft {

struct SimulationOptions {
  std::uint64_t seed = 1;
  int peers = 8;
  Duration forming = std::chrono::seconds(4);
  Duration faults = std::chrono::seconds(20);
  // Long enough for timeouts, back-off and joins.
  Duration quiet = std::chrono::seconds(18);
  // Whether members without a quorum found branches (SplitPolicy::kMerge); all must be one again.
  bool merge = false;
  // Whether somebody who was a member lies to the others from then on, with a key that was renewed.
  bool hostile = false;
  // Machines keep their records (voter_record.h) and may all be lost but one that has the state;
  // what was not synced is lost with the power, and clocks may be set back.
  bool records = false;
  // Prints views, faults and states as they happen.
  bool trace = false;
};

struct SimulationResult {
  // Empty, or the first violation.
  std::string fault;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t views = 0;
  std::uint64_t rounds = 0;
  std::uint64_t faults = 0;
  std::uint64_t branches = 0;
  std::uint64_t merges = 0;
  // So many members of the last view lost their state that it has no quorum: nobody may go on.
  bool quorum_lost = false;
};

SimulationResult simulate(const SimulationOptions& options);

}  // namespace weft
