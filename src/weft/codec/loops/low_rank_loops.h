// LowRankLoops: products of a matrix with vectors, for codecs that send factors of matrices;
// compiled once for any processor and once for AVX2.
//
// `matrix` has rows x cols values, row by row. Sums are doubles in one order, so both give the same
// bits. Threads: any. Fails: never.
#pragma once

#include <cstddef>

#include "weft/base/isa/isa_loops.h"

namespace weft {

struct MatrixValues {
  const float* values = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;
};

struct LowRankLoops {
  // out[i] = the sum of matrix[i][j] * right[j]; `out` has a value for each row.
  void (*times_right)(const MatrixValues& matrix, const float* right, double* out);
  // out[j] = the sum of left[i] * matrix[i][j]; `out` has a value for each column.
  void (*times_left)(const MatrixValues& matrix, const float* left, double* out);
  // values[i][j] = the sum of left[k][i] * right[k][j] over `rank` vectors k, which stand one after
  // the other; in floats, in the order of k.
  void (*outer)(const float* left, const float* right, std::size_t rank, std::size_t rows,
                std::size_t cols, float* values);
};

// low_rank_loops(): the loops for this processor.
WEFT_MEMORY_LOOPS(LowRankLoops, low_rank_loops)

}  // namespace weft
