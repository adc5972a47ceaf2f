// The eigenvectors of a small symmetric matrix. For aggregate. Threads: pure.
#pragma once

#include <vector>

namespace weft {

// Square matrix and its eigenvectors, both by row: entry (i, j) is [i * size + j].
struct SymmetricEigen {
  // Largest first.
  std::vector<double> values;
  // Row k is the eigenvector of values[k], of length 1.
  std::vector<double> vectors;
};

// By Jacobi's rotations in one order, from +, -, *, / and square roots alone: all processors get
// the same bits. About 60 size^3 operations. REQUIRES: symmetric, finite.
SymmetricEigen symmetric_eigen(std::vector<double> matrix, int size);

}  // namespace weft
