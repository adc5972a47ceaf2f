// The loops of low_rank_loops.h, compiled once for each instruction set.
#include "weft/codec/loops/low_rank_loops.h"

#include "weft/base/isa/loops_begin.inc"

namespace weft {
namespace {

// Sums side by side: enough to fill the registers, and a part of each row that lies together.
constexpr std::size_t kSums = 16;

// Values j, j + kSums, ... make one sum; the sums are added in pairs.
double dot(const float* a, const float* b, std::size_t count) {
  double sums[kSums] = {};
  std::size_t at = 0;
  for (; at + kSums <= count; at += kSums) {
    for (std::size_t k = 0; k < kSums; ++k) {
      sums[k] += static_cast<double>(a[at + k]) * static_cast<double>(b[at + k]);
    }
  }
  for (std::size_t k = 0; at + k < count; ++k) {
    sums[k] += static_cast<double>(a[at + k]) * static_cast<double>(b[at + k]);
  }
  for (std::size_t half = kSums / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  }
  return sums[0];
}

void times_right(const MatrixValues& matrix, const float* right, double* out) {
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    out[i] = dot(matrix.values + i * matrix.cols, right, matrix.cols);
  }
}

void times_left(const MatrixValues& matrix, const float* left, double* out) {
  std::size_t at = 0;
  for (; at + kSums <= matrix.cols; at += kSums) {
    double sums[kSums] = {};
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      const float* const part = matrix.values + i * matrix.cols + at;
      const auto factor = static_cast<double>(left[i]);
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += factor * static_cast<double>(part[k]);
    }
    for (std::size_t k = 0; k < kSums; ++k) out[at + k] = sums[k];
  }
  for (; at < matrix.cols; ++at) {
    double sum = 0;
    for (std::size_t i = 0; i < matrix.rows; ++i) {
      sum +=
          static_cast<double>(left[i]) * static_cast<double>(matrix.values[i * matrix.cols + at]);
    }
    out[at] = sum;
  }
}

void outer(const float* left, const float* right, std::size_t rank, std::size_t rows,
           std::size_t cols, float* values) {
  for (std::size_t i = 0; i < rows; ++i) {
    float* const row = values + i * cols;
    for (std::size_t j = 0; j < cols; ++j) row[j] = 0;
    for (std::size_t k = 0; k < rank; ++k) {
      const float factor = left[k * rows + i];
      const float* const vector = right + k * cols;
      for (std::size_t j = 0; j < cols; ++j) row[j] += factor * vector[j];
    }
  }
}

}  // namespace

extern const LowRankLoops WEFT_LOOPS_NAME(low_rank_loops) = {times_right, times_left, outer};

}  // namespace weft

#include "weft/base/isa/loops_end.inc"
