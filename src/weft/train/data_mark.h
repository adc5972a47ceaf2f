// data_mark(): what members of a run compare of their training data before they train together.
//
// Where it stands: a member's state carries its mark (Trainer::encode()), and a newcomer compares
// it with its own before it takes the state over. Recipes with data.private = true leave it out. A
// mark has counts, means and hashes, no samples: a line each, LABEL, tab, VALUE. Of images the
// classes of all samples are compared, not their pixels, which differ with the libraries that
// decode them; of more than 64 MiB of tokens, a thousand pieces.
// Threads: pure.
#pragma once

#include <string>
#include <string_view>

#include "weft/base/status.h"
#include "weft/data/dataset.h"

namespace weft {

std::string data_mark(const Dataset& training);

// kInvalidArgument, naming in what they differ and what to do. `theirs` is from a peer: nothing of
// it is shown; empty is as good as any.
Status check_data_mark(std::string_view own, std::string_view theirs);

}  // namespace weft
