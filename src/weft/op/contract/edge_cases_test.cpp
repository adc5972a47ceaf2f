// What operations give at the edges: NaN, single values, positions far outside, no spread. PyTorch
// says the same; tests/golden/rules.txt has more of its values.
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/core/sample.h"
#include "weft/op/ops.h"

namespace weft::edge_cases_test {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A NaN that an activation swallows is never found.
TEST(Relu, KeepsNaN) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    std::vector<double> values(40, 1.0);
    values[3] = kNan;
    const Tensor x(Array::from(values, {1, 40}).to(dtype));
    EXPECT_TRUE(std::isnan(values_of(relu(x))[3])) << to_string(dtype);
    const Tensor one(Array::full({1, 40}, 1.0, dtype));
    EXPECT_TRUE(std::isnan(values_of(add_relu(x, one))[3])) << to_string(dtype);
    EXPECT_TRUE(std::isnan(values_of(linear(x, one, {}, Activation::kRelu))[0]))
        << to_string(dtype);
  }
}

TEST(BatchNorm, KeepsNaNThroughItsRelu) {
  std::vector<float> values(2 * 3 * 4, 1.0F);
  values[5] = std::numeric_limits<float>::quiet_NaN();
  Array mean = Array::zeros({3});
  Array variance = Array::full({3}, 1.0);
  const Tensor y = batch_norm(Tensor(Array::from(values, {2, 3, 2, 2})), {}, {}, mean, variance,
                              {.activation = Activation::kRelu});
  EXPECT_TRUE(std::isnan(values_of(y)[5]));
  EXPECT_FALSE(std::isnan(values_of(y)[4]));
}

TEST(MaxPool, KeepsNaNPlainAndBlocked) {
  constexpr std::int64_t kChannels = 8;
  std::vector<double> values(kChannels * 16, 1.0);
  // In each channel the last of the first window and the first of the last one.
  for (std::size_t c = 0; c < kChannels; ++c) values[c * 16 + 5] = values[c * 16 + 10] = kNan;
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    const Tensor x(Array::from(values, {1, kChannels, 4, 4}).to(dtype));
    // What a convolution hands over may lie in an order of its own.
    const Tensor mixed = conv2d(x, Tensor(Array::full({kChannels, kChannels, 1, 1}, 1.0, dtype)));
    for (const Tensor& image : {x, mixed}) {
      for (const Tensor& y : {max_pool2d(image, {}), adaptive_max_pool2d(image, {2, 2})}) {
        const std::vector<double> largest = values_of(y);
        for (std::size_t i = 0; i < largest.size(); ++i) {
          EXPECT_EQ(std::isnan(largest[i]), i % 4 == 0 || i % 4 == 3) << i;
        }
      }
    }
  }
}

TEST(Stddev, OfEqualValuesHasNoGradient) {
  const Tensor x = tensor({3, 3, 1, 2}, {2, 2}, true);
  const Tensor y = stddev(x, {1});
  EXPECT_EQ(values_of(y)[0], 0.0);
  backward(sum(y));
  EXPECT_EQ(gradient(x)[0], 0.0);
  EXPECT_EQ(gradient(x)[1], 0.0);
  EXPECT_NEAR(gradient(x)[3], std::sqrt(0.5), 1e-12);
  // Their mean is rounded.
  const Tensor rounded = tensor({0.1, 0.1, 0.1}, {3}, true);
  const Tensor none = stddev(rounded, {0});
  EXPECT_EQ(none.item(), 0.0);
  backward(none);
  EXPECT_EQ(gradient(rounded), std::vector<double>(3, 0.0));
}

TEST(LogSumExp, OfMinusInfinitiesHasNoGradient) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({-kInf, -kInf, -kInf, 2}, {2, 2}, true);
  const Tensor y = logsumexp(x, {1});
  EXPECT_THAT(values_of(y), ElementsAre(-kInf, 2));
  backward(sum(y));
  EXPECT_THAT(gradient(x), ElementsAre(0, 0, 0, 1));
}

// The first query reads nothing for its mask; the others may not read what is later.
TEST(Attention, MinusInfinityAddedHidesAsFalseDoes) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto gradients = [](const Array& mask) {
    const Tensor q(sample_values({1, 2, 3, 2}, 1), true);
    const Tensor k(sample_values({1, 2, 3, 2}, 2), true);
    const Tensor v(sample_values({1, 2, 3, 2}, 3), true);
    AttentionOptions options;
    options.causal = true;
    options.mask = mask;
    const Tensor y = attention(q, k, v, options);
    const std::vector<Tensor> first = grad({sum(y * y)}, {q, k, v}, {.create_graph = true});
    Tensor penalty = sum(y);
    for (const Tensor& each : first) penalty = penalty + sum(each * each);
    std::vector<double> all;
    for (const Tensor& each : grad({penalty}, {q, k, v})) {
      for (const double value : values_of(each)) all.push_back(value);
    }
    return all;
  };
  const Array hidden =
      Array::from(std::vector<double>{-kInf, -kInf, -kInf, 0, 0, 0, 0, -kInf, 0}, {3, 3});
  const Array shown = Array::from(
      std::vector<bool>{false, false, false, true, true, true, true, false, true}, {3, 3});
  EXPECT_THAT(gradients(hidden), testing::Pointwise(testing::DoubleNear(1e-12), gradients(shown)));
}

TEST(SingleValues, CountAsOneAxis) {
  const Tensor x = tensor({3}, {}, true);
  EXPECT_EQ(sum(x, {0}).item(), 3.0);
  EXPECT_EQ(max(x, {-1}).item(), 3.0);
  EXPECT_EQ(cumsum(x, 0).item(), 3.0);
  EXPECT_EQ(cumprod(x, -1).item(), 3.0);
  EXPECT_EQ(softmax(x, 0).item(), 1.0);
  EXPECT_EQ(log_softmax(x, -1).item(), 0.0);
  EXPECT_EQ(softmax(x, 0).ndim(), 0);
  backward(cumsum(x, 0) + sum(x, {0}));
  EXPECT_THAT(gradient(x), ElementsAre(2));
  EXPECT_THROW(sum(x, {1}), std::invalid_argument);
  EXPECT_THROW(sum(x, {0, -1}), std::invalid_argument);
}

TEST(Triangle, OfADiagonalFarOutsideIsAllOrNothing) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(sum(tril(x, kMax)).item(), 21.0);
  EXPECT_EQ(sum(tril(x, kMin)).item(), 0.0);
  EXPECT_EQ(sum(triu(x, kMax)).item(), 0.0);
  EXPECT_EQ(sum(triu(x, kMin)).item(), 21.0);
  EXPECT_EQ(diagonal(x, kMin).size(), 0);
  EXPECT_EQ(diagonal(x, kMax).size(), 0);
  EXPECT_EQ(diagonal(x, -2).size(), 0);
  EXPECT_THAT(refusal([&] { diag_embed(x, kMin); }), testing::HasSubstr("an offset within 2^31"));
}

TEST(Pow, OfIntegersRefusesNegativeExponents) {
  const Tensor whole(numbers({2, 3}));
  EXPECT_THAT(refusal([&] { pow(whole, -1.0); }), testing::HasSubstr("an exponent of at least 0"));
  EXPECT_THAT(values_of(pow(Tensor(numbers({3, 2}).to(DType::kU8)), 300.0)),
              ElementsAre(113, 0));  // 3^300 modulo 256
}

TEST(Division, ByANumberIsRoundedOnce) {
  const Tensor x = leaf({49, 3});
  const Tensor y = x / 49;
  EXPECT_EQ(values_of(y)[0], 1.0);  // 49 * (1 / 49) is less
  backward(sum(y));
  EXPECT_THAT(gradient(x), ElementsAre(1.0 / 49, 1.0 / 49));
}

TEST(Integers, AreNotDividedByZero) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI8, DType::kU8}) {
    const Tensor x(Array::from(std::vector<double>{4, 5}, {2}).to(dtype));
    const Tensor y(Array::from(std::vector<double>{2, 0}, {2}).to(dtype));
    EXPECT_THROW(floor_divide(x, y), DivisionByZero) << to_string(dtype);
    EXPECT_THROW(remainder(x, y), DivisionByZero) << to_string(dtype);
    // Each element of the divisor counts, wherever it lies.
    EXPECT_THROW(remainder(x, Tensor(y.array().slice(0, {}, {}, -1))), DivisionByZero);
    EXPECT_NO_THROW(
        floor_divide(Tensor(x.array().slice(0, 0, 0)), Tensor(y.array().slice(0, 1, 2))));
  }
  const Tensor least(Array::full({1}, -128, DType::kI8));
  const Tensor minus(Array::full({1}, -1, DType::kI8));
  EXPECT_THAT(values_of(floor_divide(least, minus)), ElementsAre(-128));
  EXPECT_THAT(values_of(remainder(least, minus)), ElementsAre(0));
}

TEST(Probabilities, AreWithin0And1) {
  Generator generator(1);
  for (const double wrong : {1.5, -0.5, kNan}) {
    const Tensor x(Array::from(std::vector<double>{0.5, wrong}, {2}));
    EXPECT_THROW(bce_loss(x, x), std::invalid_argument) << wrong;
    EXPECT_THROW(bernoulli(x, generator), std::invalid_argument) << wrong;
  }
}

TEST(Median, OfAllSharesItsGradient) {
  const Tensor x = leaf({1, 7, 1, 1});
  backward(median_of_all(x));
  EXPECT_THAT(values_of(Tensor(x.grad())), ElementsAre(1. / 3, 0, 1. / 3, 1. / 3));
}

}  // namespace
}  // namespace weft::edge_cases_test
