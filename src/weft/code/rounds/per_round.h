// per_round: a code whose jobs take one round each, with one message per worker.
//
// Where it stands: uncoded, fractional_repetition, cyclic and roots_of_unity are this over their
// ChunkSums. Fails: never.
#pragma once

#include <memory>

#include "weft/code/rounds/coded_rounds.h"

namespace weft {

std::unique_ptr<CodedRounds> per_round(std::unique_ptr<const ChunkSums> sums, std::int64_t jobs);

}  // namespace weft
