// The loops over whole rows and over rows side by side, in every instruction set, against sums in
// f64.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/rows.h"
#include "weft/kernel/reduce/reduce.h"

namespace weft::row_kernels_test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> normal_values(std::int64_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(3.0 * rng.normal());
  return values;
}

// In f64, of the row [from, from + count).
std::vector<double> softmax_of(const float* from, std::int64_t count) {
  std::vector<double> y;
  double total = 0;
  double largest = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::fmax(largest, double{from[i]});
  for (std::int64_t i = 0; i < count; ++i) {
    y.push_back(std::exp(double{from[i]} - largest));
    total += y.back();
  }
  for (double& value : y) value /= total;
  return y;
}

TEST(SoftmaxRows, AreAccurateAndGiveWhatTheyWereDividedBy) {
  constexpr std::int64_t kRows = 5;
  for (const std::int64_t count : {1, 3, 16, 63, 100, 2'500}) {
    const std::vector<float> x = normal_values(kRows * count, 1);
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      std::vector<float> y(x.size());
      std::vector<RowTotal> totals(kRows);
      kernels->softmax[0](x.data(), y.data(), {kRows, count}, totals.data());
      for (std::int64_t row = 0; row < kRows; ++row) {
        const float* const from = x.data() + row * count;
        const std::vector<double> want = softmax_of(from, count);
        const RowTotal& total = totals[static_cast<std::size_t>(row)];
        for (std::int64_t i = 0; i < count; ++i) {
          const double exact = want[static_cast<std::size_t>(i)];
          // The difference from the largest value is rounded before it is an exponent.
          const double rounded = 0x1p-24 * std::abs(double{from[i]} - total.largest);
          const double error = (rounded + 3e-7) * exact;
          ASSERT_NEAR(double{y[static_cast<std::size_t>(row * count + i)]}, exact, error);
          ASSERT_NEAR(std::exp(double{from[i]} - total.largest) / total.sum, exact, error);
        }
      }
    }
  }
}

TEST(SoftmaxRows, EndWell) {
  const std::vector<float> masked = {1.0F, -kInfinity, -200.0F, 1.0F};
  const std::vector<float> unbounded = {1.0F, kInfinity, 0.0F};
  const std::vector<float> nothing = {-kInfinity, -kInfinity};
  const std::vector<float> unknown = {0.0F, std::numeric_limits<float>::quiet_NaN()};
  for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
    std::vector<float> y(masked.size());
    kernels->softmax[0](masked.data(), y.data(), {1, 4}, nullptr);
    EXPECT_EQ(y, (std::vector<float>{0.5F, 0.0F, 0.0F, 0.5F}));
    kernels->log_softmax[0](masked.data(), y.data(), {1, 4});
    EXPECT_EQ(y[1], -kInfinity);
    EXPECT_FLOAT_EQ(y[2], static_cast<float>(-201.0 - std::log(2.0)));
    for (const std::vector<float>* const row : {&unbounded, &nothing, &unknown}) {
      kernels->softmax[0](row->data(), y.data(), {1, static_cast<std::int64_t>(row->size())},
                          nullptr);
      for (std::size_t i = 0; i < row->size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
      kernels->log_softmax[0](row->data(), y.data(), {1, static_cast<std::int64_t>(row->size())});
      for (std::size_t i = 0; i < row->size(); ++i) EXPECT_TRUE(std::isnan(y[i])) << i;
    }
  }
}

TEST(SoftmaxRows, GradientsAreThoseOfTheFormulas) {
  constexpr std::int64_t kRows = 3;
  for (const std::int64_t count : {1, 17, 64, 1'500}) {
    const std::vector<float> x = normal_values(kRows * count, 2);
    const std::vector<float> dy = normal_values(kRows * count, 3);
    for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
      std::vector<float> y(x.size());
      std::vector<float> log_y(x.size());
      std::vector<float> dx(x.size());
      std::vector<float> log_dx(x.size());
      kernels->softmax[0](x.data(), y.data(), {kRows, count}, nullptr);
      kernels->log_softmax[0](x.data(), log_y.data(), {kRows, count});
      kernels->softmax_gradient[0]({y.data(), dy.data(), dx.data()}, {kRows, count});
      kernels->log_softmax_gradient[0]({log_y.data(), dy.data(), log_dx.data()}, {kRows, count});
      for (std::int64_t row = 0; row < kRows; ++row) {
        double product = 0;
        double sum = 0;
        for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
          const auto at = static_cast<std::size_t>(i);
          product += double{dy[at]} * double{y[at]};
          sum += double{dy[at]};
        }
        for (std::int64_t i = row * count; i < (row + 1) * count; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_NEAR(double{dx[at]}, (double{dy[at]} - product) * double{y[at]}, 2e-6);
          const double want = double{dy[at]} - std::exp(double{log_y[at]}) * sum;
          ASSERT_NEAR(double{log_dx[at]}, want, 1e-6 * (std::abs(want) + std::abs(sum)));
        }
      }
    }
  }
}

// One after the other in f64, as a state that is added to.
TEST(ReduceColumns, SumRowsInOrderInEveryInstructionSet) {
  constexpr std::int64_t kStep = 80;
  for (const std::int64_t rows : {1, 7, 8, 9, 16, 27}) {
    for (const std::int64_t count : {1, 13, 64, 77}) {
      const std::vector<float> x = normal_values(rows * kStep, 4);
      std::vector<double> want(static_cast<std::size_t>(count), 0.25);
      std::vector<double> spread(static_cast<std::size_t>(count), 0.25);
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t i = 0; i < count; ++i) {
          const double value = double{x[static_cast<std::size_t>(r * kStep + i)]};
          want[static_cast<std::size_t>(i)] += value;
          spread[static_cast<std::size_t>(i)] += (value - 0.5) * (value - 0.5);
        }
      }
      const std::vector<double> shifts(static_cast<std::size_t>(count), 0.5);
      for (const auto& [isa, kernels] : loops_that_run(row_kernels_tables)) {
        std::vector<double> state(static_cast<std::size_t>(count), 0.25);
        kernels->reduce_columns[0][0]({x.data(), 1, kStep, rows}, state.data(), count);
        EXPECT_EQ(state, want);
        state.assign(state.size(), 0.25);
        kernels->deviation_columns[0]({x.data(), 1, kStep, rows}, shifts.data(), state.data(),
                                      count);
        EXPECT_EQ(state, spread);
      }
    }
  }
}

// Tiles of outputs are as wide as the threads want them.
TEST(ReduceColumns, WideArraysHaveTheSameBitsForAnyThreadCount) {
  Rng rng(5);
  for (const Shape& shape : {Shape{37, 5'000}, Shape{3, 11, 700}}) {
    Array x = Array::empty(shape);
    for (float& value : x.flat<float>()) value = static_cast<float>(rng.normal());
    const AxisMask all_but_last = (1U << static_cast<unsigned>(shape.size() - 1)) - 1;
    std::vector<std::vector<float>> sums;
    std::vector<std::vector<float>> variances;
    for (const int threads : {1, 2, 3, 7}) {
      set_thread_count(threads);
      sums.push_back(reduce(ReduceOp::kSum, x, all_but_last, false).to_vector<float>());
      variances.push_back(variance(x, all_but_last, false, 1.0).to_vector<float>());
    }
    set_thread_count(1);
    const std::int64_t width = shape.back();
    for (std::int64_t j = 0; j < width; ++j) {
      double sum = 0;
      for (std::int64_t i = j; i < x.size(); i += width) sum += double{x.data<float>()[i]};
      ASSERT_EQ(sums[0][static_cast<std::size_t>(j)], static_cast<float>(sum)) << j;
    }
    for (std::size_t k = 1; k < sums.size(); ++k) {
      EXPECT_EQ(sums[k], sums[0]);
      EXPECT_EQ(variances[k], variances[0]);
    }
  }
}

}  // namespace
}  // namespace weft::row_kernels_test
