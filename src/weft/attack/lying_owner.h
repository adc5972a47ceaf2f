// Members that lie in a verified round (collective/verify/verified_butterfly.h), each in one way.
//
// They follow the protocol in all else, sign what they send, and believe their own lies. For tests
// and simulations; nothing that is installed contains them.
//
// Where it stands: RoundCoreOptions::make_core or SwarmOptions::make_core of the liar. Threads and
// failures: of a Collective.
#pragma once

#include <cstdint>

#include "weft/collective/reduce/collective.h"

namespace weft {

enum class OwnerLie : std::uint8_t {
  kAddsConstant,     // to each value of the chunk that it owns
  kFlipsBit,         // the lowest of the first value
  kFalseDistances,   // says that its own update is near to all
  kEquivocates,      // sends and signs another chunk to members of odd rank
  kSpoilsOnTheWay,   // sends them another chunk than it signs
  kFalseInput,       // sends inputs that it has not committed to
  kFalseInputToOne,  // only to the member that follows it
  kFalseAccusation,  // says that right chunks are false
  kNoVerdict,        // repeats chunks, and says nothing
};

struct OwnerLieOptions {
  OwnerLie lie{};
  Round from_round = Round(1);
};

// A liar's core where the round is verified, an honest one where it is not.
CollectiveMaker make_lying_owner(const OwnerLieOptions& options);

}  // namespace weft
