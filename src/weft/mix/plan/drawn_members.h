// The members of a set in an order that is drawn anew for each version.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/mix/plan/mix_plan_def.h"

namespace weft {

// All members. Members that know the seed agree on it; without the seed nobody can
// foresee in which version a member comes early.
std::vector<std::uint32_t> drawn_order(const MixPlanInput& input, std::uint64_t version);

// The same without those that are not alive; not empty.
std::vector<std::uint32_t> drawn_alive(const MixPlanInput& input, std::uint64_t version);

// A share of `members`, rounded, at least one.
std::uint32_t share_of_members(double share, std::uint32_t members);

}  // namespace weft
