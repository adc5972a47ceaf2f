// Hand-solved systems, and one on which the normal equations would fail.
#include "weft/code/chunk/least_squares.h"

#include <cmath>

#include <gtest/gtest.h>

namespace weft::least_squares_test {
namespace {

TEST(LeastSquares, FitsTheLineThroughThreePoints) {
  // y = 1, 2, 4 at x = 0, 1, 2: slope (4 - 1) / 2, and 7/3 - slope at 0.
  const auto solution = solve_least_squares({{1, 1, 1}, {0, 1, 2}}, {1, 2, 4});
  ASSERT_TRUE(solution.ok());
  EXPECT_NEAR((*solution)[0], 5.0 / 6, 1e-14);
  EXPECT_NEAR((*solution)[1], 1.5, 1e-14);
}

TEST(LeastSquares, SolvesASquareSystemWhoseFirstElementIsZero) {
  // 2 y = 4 and x + 3 y = 7.
  const auto solution = solve_least_squares({{0, 1}, {2, 3}}, {4, 7});
  ASSERT_TRUE(solution.ok());
  EXPECT_NEAR((*solution)[0], 1, 1e-14);
  EXPECT_NEAR((*solution)[1], 2, 1e-14);
}

// The Hilbert matrix of 6 has the condition number 1.5e7; its square leaves one digit.
TEST(LeastSquares, LosesTheDigitsOfTheConditionNumberOnly) {
  std::vector<std::vector<double>> columns;
  std::vector<double> right(6);
  for (int j = 0; j < 6; ++j) {
    std::vector<double>& column = columns.emplace_back();
    for (int i = 0; i < 6; ++i) column.push_back(1.0 / (i + j + 1));
    for (std::size_t i = 0; i < 6; ++i) right[i] += column[i];
  }
  const auto solution = solve_least_squares(columns, right);
  ASSERT_TRUE(solution.ok());
  for (const double value : *solution) EXPECT_NEAR(value, 1, 1e-8);
}

TEST(LeastSquares, DependentColumnsAreRefused) {
  EXPECT_EQ(solve_least_squares({{1, 2, 3}, {2, 4, 6}}, {1, 1, 1}).status().code(),
            Code::kUnavailable);
  EXPECT_EQ(solve_least_squares({{0, 0}}, {1, 1}).status().code(), Code::kUnavailable);
}

TEST(LeastSquares, WithoutColumnsThereIsNothingToSolve) {
  const auto solution = solve_least_squares({}, {1});
  ASSERT_TRUE(solution.ok());
  EXPECT_TRUE(solution->empty());
}

}  // namespace
}  // namespace weft::least_squares_test
