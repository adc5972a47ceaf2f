// `weft run` and `weft join`: this process as one peer of a run.
//
// Where it stands: main -> here -> Trainer, Swarm, RunLoop. Threads: the main thread.
// Fails: the reason goes to standard error, the code is exit_code.h's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/app/member/member_session.h"
#include "weft/app/terminal/exit_code.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct RunRequest : MemberRequest {
  std::string recipe_path;
  std::optional<int> peers;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> seed;
  std::vector<std::string> settings;
  bool resume = false;
  // "newest", or "older": if the newest checkpoint is damaged, the one before it is used.
  std::string resume_from;
  // "swarm", or "mpi": the processes that mpirun has started are the group.
  std::string engine = "swarm";
};

struct JoinRequest : MemberRequest {
  std::string ticket;      // empty: a run of the local network is chosen
  std::string wanted;      // which one: how its name or tag begins; empty: ask
  std::string rendezvous;  // HOST:PORT; asked if no address of the ticket answers
  bool yes = false;        // take part without showing the plan and asking
};

// The recipe that a request names, with what variables and flags say of it.
Result<Recipe> recipe_of(const RunRequest& request);

// `started`: when the process began.
ExitCode run_command(const RunRequest& request, TimePoint started);
ExitCode join_command(const JoinRequest& request, TimePoint started);

}  // namespace weft
