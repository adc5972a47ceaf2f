// Hashes of the shared train state: parameters, the arena's states that all members share (the
// optimizer's; with local steps the outer one's alone) and the step counter.
//
// All members must hold this state bit for bit after each round; its bytes, for newcomers and for
// the disk, are io/checkpoint.h's.
// Threads: the training thread.
#pragma once

#include <span>
#include <string>

#include "weft/array/arena/parameter_arena.h"
#include "weft/collective/parts/swarm_types.h"
#include "weft/optim/optimizer.h"

namespace weft {

// XXH3-128 of every parameter and of every part for it of `states` ("momentum/fc.weight").
StateHash hash_state(const ParameterArena& arena, const Optimizer& optimizer,
                     std::span<const std::string> states);
// SHA-256, hexadecimal, over the layout's hash, the step counter and all buffers: the state hash
// that people compare.
std::string state_digest(const ParameterArena& arena, const Optimizer& optimizer,
                         std::span<const std::string> states);

}  // namespace weft
