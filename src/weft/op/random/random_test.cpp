// Random tensors: shapes, types, ranges, refusals. kernel/random/random_test.cpp has the
// distributions.
#include "weft/op/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/op/arithmetic.h"
#include "weft/op/reduce.h"

namespace weft::random_test {
namespace {

TEST(RandomTensors, HaveTheShapeAndTypeAskedFor) {
  Generator generator(1);
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    EXPECT_EQ(rand({2, 3}, generator, dtype).dtype(), dtype);
    EXPECT_EQ(randn({4, 0}, generator, dtype).shape(), (Shape{4, 0}));
    EXPECT_EQ(normal({}, 1.0, 2.0, generator, dtype).size(), 1);
  }
  EXPECT_EQ(randint(0, 5, {7}, generator).dtype(), DType::kI64);
  EXPECT_EQ(bernoulli({3}, 0.5, generator, DType::kF32).dtype(), DType::kF32);
  EXPECT_EQ(bernoulli(rand({3, 2}, generator), generator).shape(), (Shape{3, 2}));
}

TEST(RandomTensors, StayInTheirRangeAndGoOn) {
  Generator generator(2);
  const Tensor x = uniform({5000}, -3.0, 5.0, generator);
  EXPECT_GE(min(x).item(), -3.0);
  EXPECT_LE(max(x).item(), 5.0);
  EXPECT_NEAR(mean(x).item(), 1.0, 0.2);
  const Tensor y = normal({5000}, 10.0, 0.5, generator);
  EXPECT_NEAR(mean(y).item(), 10.0, 0.05);
  EXPECT_NEAR(stddev(y).item(), 0.5, 0.05);
  const std::vector<float> a = rand({8}, generator).array().to_vector<float>();
  const std::vector<float> b = rand({8}, generator).array().to_vector<float>();
  EXPECT_NE(a, b);
  Generator other(2);
  EXPECT_EQ(uniform({5000}, -3.0, 5.0, other).array().to_vector<float>(),
            x.array().to_vector<float>());
  std::vector<std::int64_t> order = randperm(50, generator).array().to_vector<std::int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (std::int64_t i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(RandomTensors, CategoriesComeInProportionToTheirWeights) {
  Generator generator(4);
  const Tensor weights(Array::from(std::vector<float>{0, 1, 0, 3, 0, 2, 2, 0, 0, 0}, {2, 5}));
  const Tensor draws = categorical(weights, 20'000, generator);
  EXPECT_EQ(draws.shape(), (Shape{2, 20'000}));
  std::vector<std::vector<double>> shares(2, std::vector<double>(5));
  const std::vector<std::int64_t> places = draws.array().to_vector<std::int64_t>();
  for (std::size_t i = 0; i < places.size(); ++i) {
    shares[i / 20'000][static_cast<std::size_t>(places[i])] += 1.0 / 20'000;
  }
  EXPECT_EQ(shares[0][0] + shares[0][2] + shares[0][4], 0.0);
  EXPECT_NEAR(shares[0][3], 0.75, 0.02);
  EXPECT_NEAR(shares[1][0], 0.5, 0.02);
  EXPECT_EQ(shares[1][2] + shares[1][3] + shares[1][4], 0.0);
}

TEST(RandomTensors, CategoriesAreRefusedWhereThereIsNothingToDraw) {
  Generator generator(5);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<std::vector<float>> wrong = {
      {0, 0}, {1, -1}, {-1, 3}, {kInf, 1}, {std::nanf(""), 1}, {1, std::nanf("")}, {0.5F, -0.25F}};
  for (const std::vector<float>& each : wrong) {
    EXPECT_THROW(categorical(Tensor(Array::from(each, {2})), 1, generator), std::invalid_argument);
  }
  const Tensor last(Array::from(std::vector<float>{0, 0, 1e-38F, 0}, {4}));
  for (const std::int64_t place :
       categorical(last, 100, generator).array().to_vector<std::int64_t>())
    EXPECT_EQ(place, 2);
}

TEST(RandomTensors, RefuseWhatMakesNoSense) {
  Generator generator(3);
  EXPECT_THROW(rand({2}, generator, DType::kI32), std::invalid_argument);
  EXPECT_THROW(randint(3, 3, {1}, generator), std::invalid_argument);
  EXPECT_THROW(bernoulli({1}, 1.5, generator), std::invalid_argument);
  EXPECT_THROW(normal({1}, 0.0, -1.0, generator), std::invalid_argument);
  EXPECT_THROW(uniform({1}, 1.0, 0.0, generator), std::invalid_argument);
  EXPECT_THROW(randperm(-1, generator), std::invalid_argument);
}

}  // namespace
}  // namespace weft::random_test
