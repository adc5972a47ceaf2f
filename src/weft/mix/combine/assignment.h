// The assignment of rows to columns with the largest total gain.
//
// IMPLEMENTATION: Kuhn, "The Hungarian method for the assignment problem", 1955, in the form of
// shortest augmenting paths with potentials, which costs n^3 steps. Among equal assignments
// it gives one that depends on the gains alone. Threads: pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

// `gain`: n x n, row by row, finite. Returns the column of each row.
std::vector<std::size_t> best_assignment(std::span<const double> gain, std::size_t n);

}  // namespace weft
