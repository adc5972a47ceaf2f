// Code shared by Krum and the rules derived from it. For this folder. Threads: pure.
#pragma once

#include <span>
#include <vector>

#include "weft/aggregate/distances.h"

namespace weft {

// For each of `members` the sum of its squared distances to the `neighbours` nearest others of
// them.
std::vector<double> krum_scores(const Distances& distances, std::span<const int> members,
                                int neighbours);
// Positions of the `count` smallest values, the smallest first; of equal ones the first.
std::vector<int> smallest(std::span<const double> values, int count);

}  // namespace weft
