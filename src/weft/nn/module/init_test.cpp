#include "weft/nn/init.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/nn/attention.h"
#include "weft/nn/layers.h"
#include "weft/nn/recurrent.h"

namespace weft::init_test {
namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
  double largest = 0;
};

template <class Fill>
Moments moments_of(const Shape& shape, const Fill& fill) {
  Array values = Array::empty(shape);
  Rng rng(11);
  fill(values, rng);
  Moments moments;
  for (const float value : values.flat<float>()) {
    moments.mean += value;
    moments.deviation += double{value} * value;
    moments.largest = std::max(moments.largest, std::abs(double{value}));
  }
  const auto count = static_cast<double>(values.size());
  moments.mean /= count;
  moments.deviation = std::sqrt(moments.deviation / count - moments.mean * moments.mean);
  return moments;
}

// 200,000 values: the deviation is known to about 0.5 %, the mean to 0.7 % of it (3 sigma).
constexpr double kRelative = 0.01;

TEST(Init, FansAreThoseOfPyTorch) {
  EXPECT_EQ(fans_of({7, 5}).in, 5);
  EXPECT_EQ(fans_of({7, 5}).out, 7);
  EXPECT_EQ(fans_of({32, 16, 3, 5}).in, 16 * 15);
  EXPECT_EQ(fans_of({32, 16, 3, 5}).out, 32 * 15);
  EXPECT_THROW(fans_of({7}), std::invalid_argument);
}

TEST(Init, KaimingHasItsDeviationAndBound) {
  const Shape shape = {500, 400};
  const double deviation = std::sqrt(2.0 / 400);
  const Moments normal = moments_of(shape, [](Array& a, Rng& r) { kaiming_normal(a, r); });
  EXPECT_NEAR(normal.deviation / deviation, 1.0, kRelative);
  EXPECT_NEAR(normal.mean / deviation, 0.0, kRelative);
  EXPECT_GT(normal.largest, 3.5 * deviation);
  const Moments uniform = moments_of(shape, [](Array& a, Rng& r) { kaiming_uniform(a, r); });
  EXPECT_NEAR(uniform.deviation / deviation, 1.0, kRelative);
  EXPECT_LE(uniform.largest, std::sqrt(3.0) * deviation * (1 + 1e-6));
  EXPECT_GT(uniform.largest, std::sqrt(3.0) * deviation * 0.999);
}

TEST(Init, XavierUsesBothFansAndTheGain) {
  const Shape shape = {100, 50, 8, 5};
  const double deviation = 2.0 * std::sqrt(2.0 / (150.0 * 40.0));
  const auto normal = moments_of(shape, [](Array& a, Rng& r) { xavier_normal(a, r, 2.0); });
  EXPECT_NEAR(normal.deviation / deviation, 1.0, kRelative);
  const auto uniform = moments_of(shape, [](Array& a, Rng& r) { xavier_uniform(a, r, 2.0); });
  EXPECT_NEAR(uniform.deviation / deviation, 1.0, kRelative);
  EXPECT_LE(uniform.largest, std::sqrt(3.0) * deviation * (1 + 1e-6));
}

TEST(Init, DefaultsAreBoundedByOneOverTheRootOfTheFanIn) {
  const double bound = 1.0 / std::sqrt(400.0);
  const Moments weight = moments_of({500, 400}, default_weight_initializer());
  EXPECT_LE(weight.largest, bound * (1 + 1e-6));
  EXPECT_GT(weight.largest, bound * 0.999);
  const Moments bias = moments_of({10000}, default_bias_initializer({500, 400}));
  EXPECT_LE(bias.largest, bound * (1 + 1e-6));
  EXPECT_GT(bias.largest, bound * 0.99);
}

TEST(Init, GainsAndFanModesAreThoseOfPyTorch) {
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kLinear), 1.0);
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kSigmoid), 1.0);
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kTanh), 5.0 / 3.0);
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kRelu), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kLeakyRelu, 0.2), std::sqrt(2.0 / 1.04));
  EXPECT_DOUBLE_EQ(gain_of(Nonlinearity::kSelu), 0.75);
  const Shape shape = {200, 50, 4, 5};
  const Moments out = moments_of(shape, [](Array& a, Rng& r) {
    kaiming_normal(a, r, {.mode = FanMode::kOut, .nonlinearity = Nonlinearity::kRelu});
  });
  EXPECT_NEAR(out.deviation / std::sqrt(2.0 / 4000), 1.0, kRelative);
  const Moments tanh = moments_of(shape, [](Array& a, Rng& r) {
    kaiming_uniform(a, r, {.nonlinearity = Nonlinearity::kTanh});
  });
  EXPECT_NEAR(tanh.deviation / (5.0 / 3.0 / std::sqrt(1000.0)), 1.0, kRelative);
  const Moments lecun = moments_of(shape, [](Array& a, Rng& r) { lecun_normal(a, r); });
  EXPECT_NEAR(lecun.deviation / std::sqrt(1.0 / 1000), 1.0, kRelative);
}

TEST(Init, ATruncatedNormalStaysWithinItsLimits) {
  // Within two deviations of its mean a normal distribution has 0.8796 of its deviation.
  const Moments moments = moments_of({500, 400}, [](Array& a, Rng& r) {
    fill_truncated_normal(a, r, {.mean = 0, .deviation = 0.5, .low = -1, .high = 1});
  });
  EXPECT_LE(moments.largest, 1.0);
  EXPECT_GT(moments.largest, 0.999);
  EXPECT_NEAR(moments.deviation / 0.5, 0.8796, kRelative);
  EXPECT_NEAR(moments.mean, 0.0, kRelative);
  Array values = Array::empty({3});
  Rng rng(1);
  EXPECT_THROW(fill_truncated_normal(values, rng, {.low = 9, .high = 10}), std::invalid_argument);
}

TEST(Init, OrthogonalRowsOrColumnsAreOrthonormal) {
  for (const Shape& shape : {Shape{5, 8}, Shape{8, 5}, Shape{6, 2, 3, 1}}) {
    Array values = Array::empty(shape);
    Rng rng(4);
    orthogonal(values, rng, 2.0);
    const std::int64_t rows = shape[0];
    const std::int64_t columns = values.size() / rows;
    const Array matrix = values.reshape({rows, columns});
    const Array vectors = rows <= columns ? matrix : matrix.transpose(0, 1).clone();
    for (std::int64_t i = 0; i < vectors.dim(0); ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        double product = 0;
        for (std::int64_t k = 0; k < vectors.dim(1); ++k) {
          product +=
              vectors.select(0, i).select(0, k).item() * vectors.select(0, j).select(0, k).item();
        }
        EXPECT_NEAR(product, i == j ? 4.0 : 0.0, 1e-6) << to_string(shape);
      }
    }
  }
}

TEST(Init, EyeAndConstants) {
  Array values = Array::empty({2, 3});
  Rng rng(1);
  eye_initializer()(values, rng);
  EXPECT_EQ(values.to_vector<float>(), (std::vector<float>{1, 0, 0, 0, 1, 0}));
  ones_initializer()(values, rng);
  EXPECT_EQ(values.to_vector<float>(), std::vector<float>(6, 1.0F));
  zeros_initializer()(values, rng);
  EXPECT_EQ(values.to_vector<float>(), std::vector<float>(6, 0.0F));
}

// The largest size that a uniform distribution may give, as PyTorch's layers have it; 0 for zeros.
TEST(Init, LayersBeginAsThoseOfPyTorch) {
  const auto largest = [](Module&& layer) {
    layer.initialize(1);
    std::vector<double> result;
    for (const NamedValue& value : layer.values()) {
      const std::vector<float> flat = value.value.to_vector<float>();
      double size = 0;
      for (const float each : flat) size = std::max(size, std::abs(double{each}));
      result.push_back(size);
    }
    return result;
  };
  const auto near = [](double bound) {
    return testing::AllOf(testing::Le(bound * (1 + 1e-6)), testing::Ge(0.9 * bound));
  };
  using testing::ElementsAre;
  EXPECT_THAT(largest(Linear(100, 64)), ElementsAre(near(0.1), near(0.1)));
  const double conv = 1 / std::sqrt(8.0 * 3 * 3);
  EXPECT_THAT(largest(Conv2d({.inputs = 16, .outputs = 64, .groups = 2})),
              ElementsAre(near(conv), near(conv)));
  EXPECT_THAT(largest(LSTM({.inputs = 9, .width = 25})),
              ElementsAre(near(0.2), near(0.2), near(0.2), near(0.2)));
  const double xavier = std::sqrt(6.0 / (4 * 96));
  EXPECT_THAT(largest(MultiHeadAttention({.width = 96, .heads = 4})),
              ElementsAre(near(xavier), 0.0, near(1 / std::sqrt(96.0)), 0.0));
}

}  // namespace
}  // namespace weft::init_test
