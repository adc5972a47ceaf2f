#include "weft/nn/init.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <gtest/gtest.h>

namespace weft {
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

}  // namespace
}  // namespace weft
