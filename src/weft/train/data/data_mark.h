// data_mark(): a summary of training data that members of a run compare before they train together.
//
// Where it stands: a member's state carries its mark (Trainer::encode()), and a newcomer compares
// it with its own before it takes the state over. Recipes with data.private = true leave it out. A
// mark has counts, means and hashes, no samples: one line each, LABEL, tab, VALUE. For images it
// contains the classes of all samples, not their pixels, which differ with the libraries that
// decode them; for more than 64 MiB of tokens, a thousand pieces.
// Threads: pure.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

std::string data_mark(const Dataset& training);

// kInvalidArgument, with the difference and the remedy. `theirs` is from a peer: none of it is
// shown; an empty one always matches.
Status check_data_mark(std::string_view own, std::string_view theirs);

}  // namespace weft
