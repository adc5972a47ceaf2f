// One test for each defect that was found in a small framework's layers and initialisers and that
// quick implementations share.
#include <cmath>

#include <gtest/gtest.h>

#include "weft/autograd/backward.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"

namespace weft::needle_defects_test {
namespace {

Tensor random_input(const Shape& shape, bool requires_grad = false) {
  Array values = Array::empty(shape);
  Rng rng(5);
  fill_normal(values, rng, 1.0);
  return Tensor(values, requires_grad);
}

TEST(Defects, ALinearLayerWithoutBias) {
  Linear layer(3, 2, false);
  layer.initialize(1);
  const Tensor x = random_input({4, 3});
  const Tensor y = layer.forward(x);
  const Array weight = layer.parameters()[0].array();
  ASSERT_EQ(layer.parameters().size(), 1U);
  for (int i = 0; i < 4; ++i) {
    for (int o = 0; o < 2; ++o) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) {
        sum += x.array().select(0, i).select(0, k).item() * weight.select(0, o).select(0, k).item();
      }
      EXPECT_NEAR(y.array().select(0, i).select(0, o).item(), sum, 1e-6);
    }
  }
  backward(sum(y));
  EXPECT_TRUE(layer.parameters()[0].grad().defined());
}

TEST(Defects, DropoutInTraining) {
  Dropout layer(0.25);
  layer.set_step_context({.seed = 1, .step = 2, .first_row = 0});
  const Tensor x(Array::full({100, 100}, 1.0), true);
  const Tensor y = layer.forward(x);
  int zeros = 0;
  for (const float value : y.array().to_vector<float>()) {
    ASSERT_TRUE(value == 0.0F || std::abs(value - 4.0F / 3.0F) < 1e-6F) << value;
    zeros += value == 0.0F ? 1 : 0;
  }
  EXPECT_NEAR(zeros, 2500, 200);  // more than 4 standard deviations
  backward(sum(y));
  EXPECT_EQ(x.grad().to_vector<float>(), y.array().to_vector<float>());
}

TEST(Defects, AConvolutionOverAnImageThatIsNotSquare) {
  Conv2d layer({.inputs = 2, .outputs = 3, .kernel = {3, 2}, .padding = {0, 1}});
  layer.initialize(1);
  const Tensor x = random_input({2, 2, 5, 9}, true);
  const Tensor y = layer.forward(x);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 3, 10}));
  backward(sum(y));
  EXPECT_EQ(x.grad().shape(), x.shape());
}

// 7x7, window 3, stride 2: (7 - 3) mod 2 is not 1, so the last window ends at the edge.
TEST(Defects, GradientsOfAStridedConvolutionHaveTheShapesOfTheirValues) {
  for (const std::int64_t side : {7, 8, 9, 10}) {
    Conv2d layer({.inputs = 1, .outputs = 1, .stride = {2, 2}, .bias = false});
    layer.initialize(1);
    const Tensor x = random_input({1, 1, side, side}, true);
    backward(sum(layer.forward(x)));
    EXPECT_EQ(x.grad().shape(), x.shape());
    const Array dw = layer.parameters()[0].grad();
    ASSERT_EQ(dw.shape(), (Shape{1, 1, 3, 3}));
    // Each tap's gradient is the sum of the pixels under it.
    const std::int64_t windows = (side - 3) / 2 + 1;
    const Array image = x.array().select(0, 0).select(0, 0);
    double corner = 0;
    for (std::int64_t i = 0; i < windows; ++i) {
      for (std::int64_t j = 0; j < windows; ++j) {
        corner += image.select(0, 2 * i + 2).select(0, 2 * j).item();
      }
    }
    EXPECT_NEAR(dw.select(0, 0).select(0, 0).select(0, 2).select(0, 0).item(), corner, 1e-4);
  }
}

TEST(Defects, TheRunningVarianceOfABatchNormIsUnbiased) {
  BatchNorm1d layer(1);
  // The variance of -1, 0, 1 is 2/3 over n and 1 over n - 1; 0, 0, 3 has 2 and 3.
  layer.forward(Tensor(Array::from(std::vector<float>{0, 0, 3}, {3, 1})));
  const NamedValue running = layer.values()[3];
  ASSERT_EQ(running.name, "running_var");
  EXPECT_NEAR(running.value.item(), 0.9 * 1.0 + 0.1 * 3.0, 1e-6);
  EXPECT_NEAR(layer.values()[2].value.item(), 0.1 * 1.0, 1e-6);
}

TEST(Defects, LinearAndLayerNormOfThreeDimensions) {
  Linear linear(4, 5);
  linear.initialize(1);
  const Tensor x = random_input({2, 3, 4}, true);
  const Tensor y = linear.forward(x);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 5}));
  const Tensor rows = linear.forward(reshape(x, {6, 4}));
  EXPECT_EQ(y.array().to_vector<float>(), rows.array().to_vector<float>());
  LayerNorm norm({5});
  const Tensor normal = norm.forward(y);
  EXPECT_EQ(normal.shape(), (Shape{2, 3, 5}));
  const Array means = mean(normal, {-1}).array();
  for (const float value : means.to_vector<float>()) EXPECT_NEAR(value, 0.0, 1e-6);
  backward(sum(normal * normal));
  EXPECT_EQ(x.grad().shape(), x.shape());
}

TEST(Defects, InitialisersTakeTheShapeOfWhatTheyFill) {
  using Fill = void (*)(Array&, Rng&);
  constexpr Fill kFills[] = {
      [](Array& a, Rng& r) { kaiming_normal(a, r); },
      [](Array& a, Rng& r) { kaiming_uniform(a, r); },
      [](Array& a, Rng& r) { xavier_normal(a, r); },
      [](Array& a, Rng& r) { xavier_uniform(a, r); },
      [](Array& a, Rng& r) { lecun_normal(a, r); },
      [](Array& a, Rng& r) { lecun_uniform(a, r); },
      [](Array& a, Rng& r) { orthogonal(a, r); },
  };
  for (const Fill fill : kFills) {
    for (const Shape& shape : {Shape{6, 4}, Shape{4, 6}, Shape{8, 3, 3, 5}}) {
      Array values = Array::zeros(shape);
      Rng rng(2);
      fill(values, rng);
      EXPECT_EQ(values.shape(), shape);
      int zeros = 0;
      for (const float value : values.to_vector<float>()) zeros += value == 0.0F ? 1 : 0;
      EXPECT_EQ(zeros, 0);
    }
  }
}

}  // namespace
}  // namespace weft::needle_defects_test
