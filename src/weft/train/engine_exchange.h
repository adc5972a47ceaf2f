// EngineExchange: a whole training on one Engine whose members stay the same: mpirun's, say.
//
// All members make the same turns: round after round, all-reduced at its end, and the reports of
// all gathered. Before each round they compare the round, the hash of their states and whether one
// was asked to stop, in one all-gather; so states that differ are found after one round, and all
// stop together. Nobody joins, and a member that is lost ends the job: its engine says so.
//
// Where it stands: as SwarmExchange, behind Exchange. Threads: the training thread.
// Fails: next() with kCorrupt where states differ, kUnavailable where a member was asked to stop or
// is lost.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/collective/engine.h"
#include "weft/train/exchange.h"

namespace weft {

struct EngineExchangeOptions {
  PeerId self;
  Round last_round;
  // Where resuming: the state is already after this round, at all members.
  Round resume_round;
  // Of one call: a member that is silent for so long is taken for lost.
  Duration limit = std::chrono::minutes(10);
};

// Takes the engine, settled.
std::unique_ptr<Exchange> make_engine_exchange(std::unique_ptr<Engine> engine,
                                               const EngineExchangeOptions& options);

}  // namespace weft
