// RoundStep: what a member does in a round that trains. Its siblings are TrainStep (each step is
// exchanged), LocalSteps (many steps for one exchange), GossipStep (a mean with neighbours) and
// MixStep (a piece of work of a method of loose exchange).
//
// Where it stands: wiring makes one from the recipe; Trainer calls it. Threads: the training
// thread. Fails: kAborted where the view changed before the round was committed: the state that all
// members share is untouched, and the round can be run again.
#pragma once

#include <string>
#include <vector>

#include "weft/base/status.h"
#include "weft/train/exchange/round_exchange.h"
#include "weft/train/step/step.h"

namespace weft {

class RoundStep {
 public:
  virtual ~RoundStep() = default;

  // Takes this member's part in round `turn.round`, exchanges it and applies what the round came
  // to.
  virtual Result<StepReport> run(const StepParts& parts, const Turn& turn,
                                 RoundExchange& exchange) = 0;
  // Applies what a round came to, whether this member took part in it or not. kInternal where
  // rounds are nobody's but the member's own.
  virtual Result<StepReport> apply(const StepParts& parts, const Turn& turn,
                                   const RoundResult& result) = 0;
  // The state came from other members: what this one has prepared led from another.
  virtual void adopted() = 0;
  // All members have moved the parameters alike, and begin anew from there.
  virtual void restarted() = 0;

  // The states of the arena that are equal at all members.
  virtual std::vector<std::string> shared_states() const = 0;
  // Whether parameters stay as they are while run() computes and waits, until it applies.
  virtual bool rests() const = 0;
};

}  // namespace weft
