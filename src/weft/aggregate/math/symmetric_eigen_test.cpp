// Against the definition: A v = lambda v, and vectors of length 1 that are orthogonal.
#include "weft/aggregate/math/symmetric_eigen.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::symmetric_eigen_test {
namespace {

using Matrix = std::vector<double>;

// The entries of B^T B by row, where B has `rank` rows.
Matrix random_gram(std::size_t size, std::size_t rank, std::uint64_t seed) {
  Rng rng(seed);
  Matrix rows(rank * size);
  for (double& value : rows) value = rng.normal();
  Matrix gram(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k < rank; ++k) {
        gram[i * size + j] += rows[k * size + i] * rows[k * size + j];
      }
    }
  }
  return gram;
}

void expect_eigen(const Matrix& matrix, std::size_t size) {
  const SymmetricEigen eigen = symmetric_eigen(matrix, static_cast<int>(size));
  ASSERT_EQ(eigen.values.size(), size);
  const double scale = 1e-12 * (1 + std::abs(eigen.values.front()));
  for (std::size_t a = 0; a < size; ++a) {
    EXPECT_GE(eigen.values[a > 0 ? a - 1 : a], eigen.values[a]);
    const double* const vector = eigen.vectors.data() + a * size;
    for (std::size_t i = 0; i < size; ++i) {
      double product = 0;
      for (std::size_t j = 0; j < size; ++j) product += matrix[i * size + j] * vector[j];
      EXPECT_NEAR(product, eigen.values[a] * vector[i], scale) << size << ", vector " << a;
    }
    for (std::size_t b = 0; b <= a; ++b) {
      double product = 0;
      for (std::size_t i = 0; i < size; ++i) product += vector[i] * eigen.vectors[b * size + i];
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-12) << size << ", vectors " << a << " and " << b;
    }
  }
}

TEST(SymmetricEigen, HoldsItsDefinitionForAnySizeAndRank) {
  for (const std::size_t size : {1U, 2U, 3U, 8U, 20U, 64U}) {
    for (const std::size_t rank : {std::size_t{1}, size / 2 + 1, 2 * size}) {
      expect_eigen(random_gram(size, rank, 10 * size + rank), size);
    }
  }
}

TEST(SymmetricEigen, TakesMatricesWithEqualAndNegativeEigenvalues) {
  expect_eigen({0, 0, 0, 0}, 2);
  expect_eigen({1, 0, 0, 0, 1, 0, 0, 0, 1}, 3);
  expect_eigen({0, 1, 1, 0}, 2);
  const SymmetricEigen eigen = symmetric_eigen({0, 3, 3, 8}, 2);
  EXPECT_THAT(eigen.values,
              testing::ElementsAre(testing::DoubleNear(9, 1e-12), testing::DoubleNear(-1, 1e-12)));
}

}  // namespace
}  // namespace weft::symmetric_eigen_test
