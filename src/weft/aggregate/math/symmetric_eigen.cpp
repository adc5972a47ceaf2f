#include "weft/aggregate/math/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

namespace weft {
namespace {

constexpr int kSweepsMax = 60;
// The share of the sum of all squares that may be left beside the diagonal.
constexpr double kRest = 1e-30;

class Jacobi {
 public:
  Jacobi(std::vector<double> matrix, std::size_t size)
      : size_(size), matrix_(std::move(matrix)), vectors_(size * size) {
    for (std::size_t i = 0; i < size_; ++i) vectors_[i * size_ + i] = 1;
  }

  void run() {
    const double all = std::inner_product(matrix_.begin(), matrix_.end(), matrix_.begin(), 0.0);
    for (int sweep = 0; sweep < kSweepsMax && beside_diagonal() > kRest * all; ++sweep) {
      for (std::size_t a = 0; a + 1 < size_; ++a) {
        for (std::size_t b = a + 1; b < size_; ++b) rotate(a, b);
      }
    }
  }

  SymmetricEigen sorted() const {
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return matrix_[a * size_ + a] > matrix_[b * size_ + b];
    });
    SymmetricEigen result;
    for (const std::size_t i : order) {
      result.values.push_back(matrix_[i * size_ + i]);
      const auto row = vectors_.begin() + static_cast<std::ptrdiff_t>(i * size_);
      result.vectors.insert(result.vectors.end(), row, row + static_cast<std::ptrdiff_t>(size_));
    }
    return result;
  }

 private:
  double beside_diagonal() const {
    double sum = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < i; ++j)
        sum += 2 * matrix_[i * size_ + j] * matrix_[i * size_ + j];
    }
    return sum;
  }

  // Turns in the plane of a and b such that entry (a, b) becomes 0.
  void rotate(std::size_t a, std::size_t b) {
    const double beside = matrix_[a * size_ + b];
    if (beside == 0) return;
    const double slope = (matrix_[b * size_ + b] - matrix_[a * size_ + a]) / (2 * beside);
    const double root = std::abs(slope) + std::sqrt(slope * slope + 1);
    const double tangent = slope >= 0 ? 1 / root : -1 / root;
    const double cosine = 1 / std::sqrt(tangent * tangent + 1);
    const double sine = tangent * cosine;
    for (std::size_t i = 0; i < size_; ++i) {
      turn(matrix_[i * size_ + a], matrix_[i * size_ + b], cosine, sine);
    }
    for (std::size_t i = 0; i < size_; ++i) {
      turn(matrix_[a * size_ + i], matrix_[b * size_ + i], cosine, sine);
      turn(vectors_[a * size_ + i], vectors_[b * size_ + i], cosine, sine);
    }
    matrix_[a * size_ + b] = matrix_[b * size_ + a] = 0;
  }

  static void turn(double& one, double& other, double cosine, double sine) {
    const double old = one;
    one = cosine * old - sine * other;
    other = sine * old + cosine * other;
  }

  std::size_t size_;
  std::vector<double> matrix_;
  std::vector<double> vectors_;
};

}  // namespace

SymmetricEigen symmetric_eigen(std::vector<double> matrix, int size) {
  Jacobi jacobi(std::move(matrix), static_cast<std::size_t>(size));
  jacobi.run();
  return jacobi.sorted();
}

}  // namespace weft
