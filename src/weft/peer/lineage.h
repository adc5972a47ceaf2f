// Lineage: how two branches of one run are related, and what each has learned that the other has
// not.
//
// A branch's history is a row of stretches: the run itself up to where the first branch left it,
// that branch up to where the next one left it, and so on. Counters of samples rise along the row
// and jump where another branch was absorbed. Two branches share their stretches up to the smaller
// of the two counters at which they parted.
// Threads: functions of their arguments.
#pragma once

#include <cstdint>

#include "weft/wire/membership_message.h"

namespace weft {

// A branch as of now: its history, and the samples of its state in all.
struct BranchTotal {
  Lineage lineage;
  std::uint64_t samples = 0;
};

// The samples that each of two branches contains and the other one does not.
struct Divergence {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};
Divergence divergence(const BranchTotal& first, const BranchTotal& second);

// The history of `absorber` after it has averaged in the state of `other`.
Lineage absorb(const BranchTotal& absorber, const BranchTotal& other);

// Whether `absorber` has taken in what `branch` had learned up to `samples`.
bool has_absorbed(const Lineage& absorber, const Hash256& branch, std::uint64_t samples);

}  // namespace weft
