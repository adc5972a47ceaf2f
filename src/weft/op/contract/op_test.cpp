// What the contract test cannot say: refusals, values at the edges, modes and side effects.
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/autograd/test_tensor.h"
#include "weft/op/core/sample.h"
#include "weft/op/ops.h"

namespace weft::op_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Op, RefusesOperandsThatDoNotFit) {
  const Tensor a = tensor({1, 2, 3, 4, 5, 6}, {2, 3});
  const Tensor b = tensor({1, 2, 3, 4}, {4});
  EXPECT_EQ(refusal([&] { add(a, b); }), "[add] expected broadcastable shapes, got [2, 3] and [4]");
  EXPECT_EQ(refusal([&] { matmul(a, a); }),
            "[matmul] expected shapes [..., m, k] and [..., k, n], got [2, 3] and [2, 3]");
  EXPECT_THAT(refusal([&] { mean(Tensor(a.array().to(DType::kI64))); }), HasSubstr("[mean]"));
  EXPECT_EQ(refusal([&] { exp(Tensor()); }), "[exp] expected a tensor, got an undefined one");
  EXPECT_EQ(refusal([&] { sum(a, {0, -2}); }), "[sum] expected each axis once, got -2 twice");
  EXPECT_THAT(refusal([&] { softmax(a, 2); }), HasSubstr("[softmax] expected"));
  EXPECT_THAT(refusal([&] { reshape(a, {4, 2}); }), HasSubstr("[reshape] expected"));
  EXPECT_THAT(refusal([&] {
                concat({a, tensor({1, 2}, {2, 1}), b}, 1);
              }),
              HasSubstr("[concat] expected"));
  EXPECT_THAT(refusal([&] { concat(std::vector<Tensor>(), 0); }), HasSubstr("at least one tensor"));
  EXPECT_THAT(refusal([&] {
                max(Tensor(Array::zeros({0, 3}, DType::kF64)));
              }),
              HasSubstr("[max] expected at least one value"));
  EXPECT_THAT(refusal([&] { dropout(a, 1.0, {}, true); }), HasSubstr("[dropout] expected p in"));
  EXPECT_THAT(refusal([&] { layer_norm(a, 1, b, b); }), HasSubstr("[layer_norm] expected weight"));
}

TEST(CrossEntropy, RefusesWrongTargets) {
  const Tensor logits(Array::zeros({2, 3}));
  const auto with = [&](const std::vector<std::int64_t>& targets) {
    return refusal([&] {
      cross_entropy(logits, Array::from(targets, {static_cast<std::int64_t>(targets.size())}));
    });
  };
  EXPECT_EQ(with({0, 3}), "[cross_entropy] expected targets in [0, 3), got 3");
  EXPECT_EQ(with({-1, 0}), "[cross_entropy] expected targets in [0, 3), got -1");
  EXPECT_EQ(with({0}), "[cross_entropy] expected targets of shape [2], got [1]");
  EXPECT_EQ(refusal([&] { cross_entropy(logits, Array::zeros({2})); }),
            "[cross_entropy] expected i64 targets, got f32");
}

TEST(CrossEntropy, TheMeanOverNoRowsIsNaN) {
  const Array targets = Array::zeros({0}, DType::kI64);
  EXPECT_TRUE(std::isnan(cross_entropy(Tensor(Array::zeros({0, 3})), targets).item()));
}

TEST(CrossEntropy, PartsOfABatchSumToTheWhole) {
  const Array logits = sample_values({6, 4}, 1).to(DType::kF32);
  const Array targets = Array::from(std::vector<std::int64_t>{0, 1, 2, 3, 0, 1}, {6});
  const double whole = cross_entropy(Tensor(logits), targets).item();
  double parts = 0;
  for (const auto& [begin, end] : {std::pair{0, 2}, std::pair{2, 6}}) {
    parts += cross_entropy(Tensor(logits.slice(0, begin, end)), targets.slice(0, begin, end),
                           {Reduction::kSum, 1.0 / 6})
                 .item();
  }
  EXPECT_NEAR(parts, whole, 1e-6);
}

TEST(Softmax, IsStableForLargeLogits) {
  const std::vector<float> large = {1e4F, 1e4F - 1.0F, -1e4F};
  const Tensor x(Array::from(large, {1, 3}));
  const std::vector<float> y = softmax(x, 1).array().to_vector<float>();
  EXPECT_NEAR(y[0], 1.0 / (1.0 + std::exp(-1.0)), 1e-6);
  EXPECT_EQ(y[2], 0.0F);
  const Array target = Array::from(std::vector<std::int64_t>{2}, {1});
  EXPECT_NEAR(cross_entropy(x, target).item(), 2e4 + std::log1p(std::exp(-1.0)), 1e-2);
}

TEST(Maximum, EqualValuesShareTheGradient) {
  const Tensor a = tensor({1, 5, 2}, {3}, true);
  const Tensor b = tensor({3, 5, 1}, {3}, true);
  backward(sum(maximum(a, b)));
  EXPECT_THAT(gradient(a), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(gradient(b), ElementsAre(1, 0.5, 0));
}

TEST(Max, EqualLargestValuesShareTheGradient) {
  const Tensor x = tensor({3, 1, 3, 2}, {4}, true);
  backward(max(x));
  EXPECT_THAT(gradient(x), ElementsAre(0.5, 0, 0.5, 0));
}

TEST(Max, NaNWins) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(max(tensor({1, nan, 3}, {3})).item()));
  EXPECT_TRUE(std::isnan(maximum(tensor({nan}, {1}), tensor({1}, {1})).item()));
  EXPECT_TRUE(std::isnan(maximum(tensor({1}, {1}), tensor({nan}, {1})).item()));
}

TEST(Arithmetic, OperatorsTakeNumbers) {
  const Tensor x = tensor({1, 2, 4}, {3}, true);
  EXPECT_THAT(values_of(2.0 / x + 1.0 - x * 3.0), ElementsAre(0, -4, -10.5));
  EXPECT_THAT(values_of(1.0 - x / 2.0), ElementsAre(0.5, 0, -1));
  backward(sum(8.0 / x));
  EXPECT_THAT(gradient(x), ElementsAre(-8, -2, -0.5));
}

TEST(Sum, OfManyOnesIsExactInF32) {
  const Array ones = Array::full({1}, 1.0).expand({20'000'001});
  EXPECT_EQ(sum(Tensor(ones)).item(), 20'000'000.0);  // the nearest float, ties to even
  const Array fewer = Array::full({1}, 1.0).expand({16'777'215});
  EXPECT_EQ(sum(Tensor(fewer)).item(), 16'777'215.0);
}

TEST(Mean, OverNoValuesIsNaN) { EXPECT_TRUE(std::isnan(mean(Tensor(Array::zeros({0}))).item())); }

TEST(Dropout, SplitsLikeTheBatch) {
  const Tensor x(Array::full({8, 33}, 1.0));
  const Tensor whole = dropout(x, 0.5, {1, 2, 3, 100}, true);
  const Tensor part = dropout(Tensor(x.array().slice(0, 5, 8)), 0.5, {1, 2, 3, 105}, true);
  EXPECT_EQ(part.array().to_vector<float>(), whole.array().slice(0, 5, 8).to_vector<float>());
}

TEST(Dropout, KeepsTheExpectedShareAndScales) {
  const Tensor x(Array::full({500, 400}, 1.0), true);
  const Tensor y = dropout(x, 0.25, {7, 1, 0, 0}, true);
  std::int64_t dropped = 0;
  for (const float value : y.array().to_vector<float>()) {
    if (value == 0.0F) {
      ++dropped;
    } else {
      EXPECT_FLOAT_EQ(value, 4.0F / 3.0F);
    }
  }
  // 200,000 draws: five standard deviations are 970.
  EXPECT_NEAR(static_cast<double>(dropped), 50'000.0, 970.0);
  backward(sum(y));
  EXPECT_EQ(x.grad().to_vector<float>(), y.array().to_vector<float>());
}

TEST(Dropout, DiffersByStepAndLayerAndIsOffOutsideOfTraining) {
  const Tensor x(Array::full({4, 64}, 1.0));
  const auto mask = [&](const DropoutKey& key) {
    return dropout(x, 0.5, key, true).array().to_vector<float>();
  };
  EXPECT_EQ(mask({1, 2, 3, 4}), mask({1, 2, 3, 4}));
  EXPECT_NE(mask({1, 2, 3, 4}), mask({2, 2, 3, 4}));
  EXPECT_NE(mask({1, 2, 3, 4}), mask({1, 3, 3, 4}));
  EXPECT_NE(mask({1, 2, 3, 4}), mask({1, 2, 4, 4}));
  EXPECT_EQ(dropout(x, 0.5, {}, false).array().to_vector<float>(), x.array().to_vector<float>());
}

TEST(BatchNorm, MovesTheRunningStatistics) {
  const Tensor x = tensor({1, 3, 5, 7}, {4, 1});  // mean 4, variance 5 (biased), 20/3 (unbiased)
  Array mean = Array::full({1}, 10.0, DType::kF64);
  Array variance = Array::full({1}, 1.0, DType::kF64);
  batch_norm(x, {}, {}, mean, variance, {true, 0.1, 1e-5});
  EXPECT_NEAR(mean.item(), 9.4, 1e-12);
  EXPECT_NEAR(variance.item(), 0.9 + 2.0 / 3.0, 1e-12);
  const Tensor y = batch_norm(tensor({9.4}, {1, 1}), {}, {}, mean, variance, {false, 0.1, 0.0});
  EXPECT_NEAR(y.item(), 0.0, 1e-12);
  EXPECT_NEAR(mean.item(), 9.4, 1e-12);
}

TEST(BatchNorm, RefusesOneValueAChannel) {
  Array none;
  EXPECT_THAT(refusal([&] {
                batch_norm(tensor({1, 2}, {1, 2}), {}, {}, none, none, {true, 0.1, 1e-5});
              }),
              HasSubstr("more than one value a channel"));
}

TEST(Sigmoid, IsStableAtBothEnds) {
  const std::vector<float> ends = {-200.0F, 200.0F, -80.0F, 0.0F};
  const std::vector<float> y = sigmoid(Tensor(Array::from(ends, {4}))).array().to_vector<float>();
  EXPECT_EQ(y[0], 0.0F);
  EXPECT_EQ(y[1], 1.0F);
  EXPECT_NEAR(y[2] / std::exp(-80.0), 1.0, 1e-5);
  EXPECT_EQ(y[3], 0.5F);
}

TEST(Slice, OfASliceReachesTheLeaf) {
  const Tensor x = tensor({1, 2, 3, 4, 5, 6}, {6}, true);
  const Tensor y = slice(slice(x, 0, 1, {}, 2), 0, {}, {}, -1);
  EXPECT_THAT(values_of(y), ElementsAre(6, 4, 2));
  backward(sum(y * tensor({1, 10, 100}, {3})));
  EXPECT_THAT(gradient(x), ElementsAre(0, 100, 0, 10, 0, 1));
}

}  // namespace
}  // namespace weft::op_test
