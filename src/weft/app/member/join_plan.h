// JoinPlan: what a run that others began will use on this machine, shown before it is used.
//
// Where it stands: `weft join` has the recipe -> here -> the person -> the model is built and the
// group is asked for admission. Threads: the main thread. Fails: kAborted if the person declines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/app/folder/find_run.h"
#include "weft/app/member/peer_command.h"
#include "weft/base/status.h"
#include "weft/train/data/data_files.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/run/trainer.h"

namespace weft {

struct JoinPlan {
  Recipe recipe;
  TrainerPlan size;
  DataFiles files;
  std::string listen;
  std::vector<std::string> advertise;
  bool map_port = false;
  std::string out;
  std::uint64_t free_bytes = 0;  // memory; 0: not known
};

// In bytes: parameters, gradients, optimizer, rounds in exchange and kept results. It does not
// include the computation of a shard, whose memory is known only afterwards.
std::uint64_t memory_estimate(const JoinPlan& plan);
// A few lines, each ending in '\n'.
std::string plan_text(const JoinPlan& plan);
// Shows the plan on standard error and asks, if a person can answer. Without `ask` it returns ok: a
// file that the person did not choose has been refused before.
Status agree_to_plan(const JoinPlan& plan, const AskPerson& ask);
// Both for `weft join`, unless its --yes asks for neither. `out`: the folder that is written to.
Status review_join(const Recipe& recipe, const TrainerPlan& size, const JoinRequest& request,
                   const std::string& out);

}  // namespace weft
