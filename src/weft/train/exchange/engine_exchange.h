// EngineExchange: a complete training on one Engine with fixed members, such as mpirun's.
//
// All members make the same turns: round after round, all-reduced at its end, and the reports of
// all members gathered. Before each round they compare the round, the hash of their states and
// whether one was asked to stop, in one all-gather; so states that differ are found after one
// round, and all stop together. No peer can join, and a lost member ends the job: its engine
// reports it.
//
// Where it stands: as SwarmExchange, behind GroupExchange. Threads: the training thread.
// Fails: next() with kCorrupt if states differ, kUnavailable if a member was asked to stop or is
// lost.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/collective/engine/engine.h"
#include "weft/train/exchange/group_exchange.h"

namespace weft {

struct EngineExchangeOptions {
  PeerId self;
  Round last_round;
  // When resuming: the state is already after this round, at all members.
  Round resume_round;
  // Time limit of one call: a member that is silent for this long counts as lost.
  Duration limit = std::chrono::minutes(10);
};

// Takes the engine, settled.
std::unique_ptr<GroupExchange> make_engine_exchange(std::unique_ptr<Engine> engine,
                                                    const EngineExchangeOptions& options);

}  // namespace weft
