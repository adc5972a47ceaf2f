// The values are compared with NumPy's by the tests of the Python package.
#include "weft/kernel/optimizer/adafactor.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"

namespace weft::adafactor_test {
namespace {

template <class Value>
std::vector<Value> random(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Value> values(count);
  for (Value& value : values) value = static_cast<Value>(rng.normal());
  return values;
}

template <class Value>
std::vector<Value> moved(int threads) {
  const Shape shape = {2, 301, 403};
  const auto size = static_cast<std::size_t>(shape.num_elements());
  set_thread_count(threads);
  std::vector<Value> parameters = random<Value>(size, 1);
  const std::vector<Value> gradients = random<Value>(size, 2);
  std::vector<Value> rows(2 * 301);
  std::vector<Value> columns(2 * 403);
  AdafactorMoments<Value> moments;
  moments.rows = rows;
  moments.columns = columns;
  for (int step = 1; step <= 2; ++step) {
    TorchAdafactorConstants constants;
    constants.step = step;
    torch_adafactor_step<Value>(constants, shape, gradients, moments, parameters);
  }
  set_thread_count(1);
  parameters.insert(parameters.end(), rows.begin(), rows.end());
  parameters.insert(parameters.end(), columns.begin(), columns.end());
  return parameters;
}

TEST(Adafactor, HasTheSameBitsForAnyThreadCount) {
  EXPECT_EQ(moved<float>(1), moved<float>(2));
  EXPECT_EQ(moved<double>(1), moved<double>(2));
}

// With gradients of 1, rows, columns and the update are 1 too; the rate is the parameter's own.
TEST(Adafactor, MovesAMatrixInClosedForm) {
  std::vector<double> parameters = {3.0, 3.0, 3.0, 3.0, 3.0, 3.0};
  const std::vector<double> gradients(6, 1.0);
  std::vector<double> rows(2);
  std::vector<double> columns(3);
  AdafactorMoments<double> moments;
  moments.rows = rows;
  moments.columns = columns;
  TorchAdafactorConstants constants;
  constants.weight_decay = 0.5;
  torch_adafactor_step<double>(constants, {2, 3}, gradients, moments, parameters);
  for (const double value : parameters) {
    EXPECT_NEAR(value, 3.0 * (1.0 - 0.01 * 0.5) - 0.01 * 3.0, 1e-15);
  }
  EXPECT_EQ(rows, std::vector<double>(2, 1.0));
  EXPECT_EQ(columns, std::vector<double>(3, 1.0));
}

}  // namespace
}  // namespace weft::adafactor_test
