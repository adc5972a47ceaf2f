// MemberRounds: performs the turns of a Swarm for a model: loads, applies and publishes states,
// sums and updates.
//
// A round's vector is the gradient buffer times this member's weight, with the changes of running
// statistics in their places (running_statistics.h). Weight and loss are what the member reports
// (collective/weighted_part.h).
//
// Where it stands: SwarmTrainer -> MemberRounds -> Swarm. Threads and failures: swarm_trainer.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/array/arena/parameter_arena.h"
#include "weft/base/status.h"
#include "weft/base/time.h"
#include "weft/collective/report/weighted_part.h"
#include "weft/collective/swarm/swarm.h"
#include "weft/optim/optimizer.h"
#include "weft/swarm/running_statistics.h"
#include "weft/swarm/swarm_trainer.h"

namespace weft {

// Shares the arena's buffers; borrows the optimizer.
struct MemberModel {
  ParameterArena& arena;
  Optimizer& optimizer;
  std::string program;
};

struct MemberHooks {
  Duration timeout{};
  Round last_round;  // 0: there is none
  std::function<void(std::span<float>)> before_update;
  std::function<bool()> stop;
};

class MemberRounds {
 public:
  // Borrows `swarm` until the last call of next(), step() and leave().
  MemberRounds(const MemberModel& model, MemberHooks hooks, Swarm& swarm);

  Result<bool> next();
  // Why step() cannot be called, or not with this part; it does not look.
  Status check_step(const SwarmPart& part) const;
  Result<SwarmStep> step(const SwarmPart& part);
  Status leave(Duration limit);

  int rank() const { return turn_.rank.value(); }
  int members() const { return turn_.members; }
  Round done() const { return done_; }
  bool finished() const { return finished_; }
  StateHash hash() const;

 private:
  enum class Way : std::uint8_t { kWait, kMoved, kRound, kFinished };

  // Performs one turn of the group; turn_ holds it if it is a round to compute.
  Result<Way> take_turn();
  // As long as there is nothing to do.
  Result<Way> follow(TimePoint deadline);
  std::span<const float> weighted_gradients(double weight);
  Result<std::span<const float>> exchange(std::span<const float> gradients, TimePoint deadline);
  Result<SwarmStep> update(Round round, std::span<const float> sums,
                           std::span<const Bytes> reports);
  Bytes encode() const;
  Status load(const Turn& turn);
  Status late(const char* call);

  ParameterArena arena_;
  Optimizer& optimizer_;
  const std::string program_;
  const MemberHooks hooks_;
  Swarm& swarm_;
  const SystemClock clock_;
  Turn turn_;              // the last that asked for a round
  bool in_round_ = false;  // next() gave it, and it is not done
  bool finished_ = false;
  Round done_;
  SwarmStep last_;
  std::optional<RunningStatistics> statistics_;  // as they were when next() gave the round
  std::vector<float> weighted_;                  // where the weight is not 1
  WeightedPart part_;                            // of the round that step() exchanges
  std::vector<float> mean_;
};

}  // namespace weft
