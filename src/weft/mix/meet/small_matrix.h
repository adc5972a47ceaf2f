// Square matrices of a few rows, by value, and their exponential. Threads: values.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace weft {

template <std::size_t N>
struct SmallMatrix {
  std::array<std::array<double, N>, N> rows{};

  static SmallMatrix identity() {
    SmallMatrix one;
    for (std::size_t i = 0; i < N; ++i) one.rows[i][i] = 1;
    return one;
  }
  SmallMatrix scaled(double by) const {
    SmallMatrix out = *this;
    for (auto& row : out.rows) {
      for (double& value : row) value *= by;
    }
    return out;
  }
  SmallMatrix plus(const SmallMatrix& other) const {
    SmallMatrix out = *this;
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t j = 0; j < N; ++j) out.rows[i][j] += other.rows[i][j];
    }
    return out;
  }
  SmallMatrix times(const SmallMatrix& other) const {
    SmallMatrix out;
    for (std::size_t i = 0; i < N; ++i) {
      for (std::size_t k = 0; k < N; ++k) {
        for (std::size_t j = 0; j < N; ++j) out.rows[i][j] += rows[i][k] * other.rows[k][j];
      }
    }
    return out;
  }
  // The largest sum of absolute values of a row.
  double norm() const {
    double largest = 0;
    for (const auto& row : rows) {
      double sum = 0;
      for (const double value : row) sum += std::abs(value);
      largest = std::max(largest, sum);
    }
    return largest;
  }
};

// e^A, by its series for A / 2^s, which is squared s times; good to about 1e-14.
template <std::size_t N>
SmallMatrix<N> exponential(const SmallMatrix<N>& a) {
  constexpr int kTerms = 16;
  int squarings = 0;
  double size = a.norm();
  for (; size > 0.5 && squarings < 60; ++squarings) size /= 2;
  const SmallMatrix<N> small = a.scaled(std::ldexp(1.0, -squarings));
  SmallMatrix<N> term = SmallMatrix<N>::identity();
  SmallMatrix<N> sum = term;
  for (int k = 1; k <= kTerms; ++k) {
    term = term.times(small).scaled(1.0 / k);
    sum = sum.plus(term);
  }
  for (int i = 0; i < squarings; ++i) sum = sum.times(sum);
  return sum;
}

}  // namespace weft
