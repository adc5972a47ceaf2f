#include "weft/kernel/conv/conv.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/conv_plain.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/gemm/linear.h"

namespace weft::conv_test {
namespace {

Array wide(const Array& array) { return array.strided().to(DType::kF64).contiguous(); }

// Relative to the largest value.
void expect_close(const Array& got, const Array& want, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  const std::vector<float> values = got.strided().to_vector<float>();
  const std::vector<double> wanted = want.to_vector<double>();
  double largest = 1.0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(values[i]), wanted[i], 1e-5 * largest) << what << ", " << i;
  }
}

struct Case {
  std::string name;
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
};

std::vector<Case> cases() {
  return {
      {"first layer", {9, 1, 13, 11}, {32, 1, 3, 3}, {}},
      {"first layer, three blocks", {3, 3, 21, 18}, {24, 3, 3, 3}, {.padding = {1, 1}}},
      {"first layer, 7x7", {2, 3, 33, 31}, {8, 3, 7, 7}, {.stride = {2, 2}, .padding = {3, 3}}},
      {"first layer, strips", {2, 2, 40, 37}, {16, 2, 3, 3}, {.dilation = {2, 3}}},
      {"blocks", {5, 16, 12, 14}, {24, 16, 3, 3}, {}},
      {"blocks, padded", {3, 8, 7, 9}, {16, 8, 3, 3}, {.padding = {1, 1}}},
      {"blocks, odd output", {2, 32, 9, 11}, {40, 32, 3, 3}, {}},
      {"blocks, padded by 2", {2, 8, 5, 6}, {8, 8, 3, 3}, {.padding = {2, 2}}},
      {"blocks, 5x5", {2, 8, 9, 9}, {8, 8, 5, 5}, {.padding = {2, 2}}},
      {"blocks, stride 2", {3, 16, 9, 10}, {8, 16, 3, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
      {"blocks, steps of 2",
       {9, 16, 19, 70},
       {32, 16, 3, 3},
       {.stride = {2, 2}, .padding = {1, 1}}},
      {"blocks, steps of 3 and 1", {2, 8, 9, 9}, {16, 8, 2, 4}, {.stride = {3, 1}}},
      {"blocks, dilated", {2, 8, 9, 9}, {8, 8, 3, 3}, {.dilation = {2, 2}}},
      {"one by one", {4, 24, 5, 5}, {8, 24, 1, 1}, {}},
      {"odd channels", {3, 3, 8, 10}, {5, 3, 3, 3}, {.padding = {1, 1}}},
      {"not square", {2, 7, 6, 13}, {6, 7, 2, 5}, {.stride = {1, 2}, .padding = {0, 2}}},
      {"stride beyond the edge", {2, 4, 10, 10}, {4, 4, 3, 3}, {.stride = {4, 3}}},
      {"dilation", {2, 5, 12, 12}, {7, 5, 3, 3}, {.padding = {2, 3}, .dilation = {2, 3}}},
      {"groups", {3, 12, 6, 7}, {8, 3, 3, 3}, {.padding = {1, 1}, .groups = 4}},
      {"groups of blocks", {2, 16, 6, 6}, {16, 8, 3, 3}, {.groups = 2}},
      {"one channel each", {2, 16, 6, 6}, {16, 1, 3, 3}, {.padding = {1, 1}, .groups = 16}},
      {"one pixel", {1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {"33 images", {33, 8, 6, 6}, {8, 8, 3, 3}, {}},
  };
}

struct Inputs {
  explicit Inputs(const Case& c)
      : x(random_array(c.x, 1)),
        weight(random_array(c.weight, 2)),
        bias(random_array({c.weight[0]}, 3)),
        dy(random_array(conv2d_shape(c.x, c.weight, c.geometry), 4)) {}
  Conv2dSaved saved(const Case& c) const { return {x, weight, {}, c.geometry}; }
  Array x, weight, bias, dy;
};

TEST(Conv2d, EqualsPlainLoops) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    const Array y = conv2d_forward(in.x, in.weight, in.bias, c.geometry, true);
    expect_close(
        y, plain::conv2d_forward(wide(in.x), wide(in.weight), wide(in.bias), c.geometry, true),
        c.name);
    const Array linear = conv2d_forward(in.x, in.weight, {}, c.geometry, false);
    expect_close(linear, plain::conv2d_forward(wide(in.x), wide(in.weight), {}, c.geometry, false),
                 c.name + " without bias");
  }
}

TEST(Conv2d, GradientOfTheInputEqualsPlainLoops) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    expect_close(conv2d_backward(in.dy, in.saved(c), {}, true),
                 plain::conv2d_backward_data(wide(in.dy), wide(in.weight), c.x, c.geometry),
                 c.name);
  }
}

TEST(Conv2d, GradientsOfTheWeightsEqualPlainLoopsAndAreAdded) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    Array dw64 = Array::empty(c.weight, DType::kF64);
    Array db64 = Array::empty({c.weight[0]}, DType::kF64);
    plain::conv2d_backward_weights(wide(in.x), wide(in.dy), c.geometry, dw64, &db64);
    Array dw = Array::empty(c.weight);
    Array db = Array::empty({c.weight[0]});
    conv2d_backward(in.dy, in.saved(c), {&dw, false, &db, false}, false);
    expect_close(dw, dw64, c.name);
    expect_close(db, db64, c.name + " bias");
    conv2d_backward(in.dy, in.saved(c), {&dw, true, &db, true}, false);
    for (double& value : dw64.flat<double>()) value *= 2;
    for (double& value : db64.flat<double>()) value *= 2;
    expect_close(dw, dw64, c.name + " added");
    expect_close(db, db64, c.name + " bias added");
    Array alone = Array::empty(c.weight);
    conv2d_backward(in.dy, in.saved(c), {&alone}, false);
    for (double& value : dw64.flat<double>()) value /= 2;
    expect_close(alone, dw64, c.name + " without bias");
  }
}

TEST(Conv2d, TheFusedReluCutsOffGradients) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    Conv2dSaved saved = in.saved(c);
    saved.y = conv2d_forward(in.x, in.weight, in.bias, c.geometry, true);
    const Array g = wide(relu_backward(in.dy, saved.y.strided()));
    Array dw = Array::empty(c.weight);
    Array db = Array::empty({c.weight[0]});
    const Array dx = conv2d_backward(in.dy, saved, {&dw, false, &db, false}, true);
    Array dw64 = Array::empty(c.weight, DType::kF64);
    Array db64 = Array::empty({c.weight[0]}, DType::kF64);
    plain::conv2d_backward_weights(wide(in.x), g, c.geometry, dw64, &db64);
    expect_close(dw, dw64, c.name);
    expect_close(db, db64, c.name);
    expect_close(dx, plain::conv2d_backward_data(g, wide(in.weight), c.x, c.geometry), c.name);
  }
}

TEST(Conv2d, TakesBlockedAndStridedInputs) {
  const Case c{"", {3, 8, 9, 9}, {16, 8, 3, 3}, {}};
  const Inputs in(c);
  const Array blocked = conv2d_forward(in.x, random_array({8, 8, 1, 1}, 5), {}, {}, false);
  const Array plain_x = blocked.strided();
  const Array odd = plain_x.transpose(2, 3).contiguous().transpose(2, 3);
  ASSERT_FALSE(odd.is_contiguous());
  const Array want =
      plain::conv2d_forward(wide(plain_x), wide(in.weight), wide(in.bias), {}, false);
  for (const Array& x : {blocked, plain_x, odd}) {
    expect_close(conv2d_forward(x, in.weight, in.bias, {}, false), want, "");
  }
  const Array dy = conv2d_forward(blocked, in.weight, in.bias, {}, false);
  Array want_dw = Array::empty(c.weight, DType::kF64);
  plain::conv2d_backward_weights(wide(plain_x), wide(dy), {}, want_dw, nullptr);
  for (const Array& x : {blocked, plain_x, odd}) {
    for (const Array& gradient : {dy, dy.strided()}) {
      Array dw = Array::empty(c.weight);
      conv2d_backward(gradient, {x, in.weight, {}, {}}, {&dw}, false);
      expect_close(dw, want_dw, "");
    }
  }
}

TEST(Conv2d, NoImagesGiveZeroGradients) {
  const Array y =
      conv2d_forward(Array::empty({0, 3, 5, 5}), random_array({4, 3, 3, 3}, 6), {}, {}, true);
  EXPECT_EQ(y.shape(), (Shape{0, 4, 3, 3}));
  Array dw = Array::full({4, 3, 3, 3}, 5.0);
  const Array dx = conv2d_backward(y, {Array::empty({0, 3, 5, 5}), dw, {}, {}}, {&dw}, true);
  EXPECT_EQ(dx.shape(), (Shape{0, 3, 5, 5}));
  EXPECT_EQ(dw.to_vector<float>(), std::vector<float>(108, 0.0F));
}

TEST(Conv2d, HasTheSameBitsForAnyThreadCount) {
  for (const Case& c : cases()) {
    const Inputs in(c);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      const Array y = conv2d_forward(in.x, in.weight, in.bias, c.geometry, true).strided();
      const Array dx = conv2d_backward(in.dy, in.saved(c), {}, true).strided();
      Array dw = Array::empty(c.weight);
      Array db = Array::empty({c.weight[0]});
      conv2d_backward(in.dy, in.saved(c), {&dw, false, &db, false}, false);
      std::vector<float> all;
      for (const Array& part : {y, dx, dw, db}) {
        const std::vector<float> values = part.to_vector<float>();
        all.insert(all.end(), values.begin(), values.end());
      }
      results.push_back(all);
    }
    set_thread_count(1);
    EXPECT_EQ(results[0], results[1]) << c.name;
    EXPECT_EQ(results[0], results[2]) << c.name;
  }
}

TEST(Relu, KeepsTheOrderOfItsInput) {
  const Array y =
      conv2d_forward(random_array({2, 8, 6, 6}, 7), random_array({16, 8, 3, 3}, 8), {}, {}, false);
  const Array r = relu_forward(y);
  EXPECT_EQ(r.is_strided(), y.is_strided());
  EXPECT_EQ(r.strided().to_vector<float>(), relu_forward(y.strided()).to_vector<float>());
  const Array dy = random_array(y.shape(), 9);
  EXPECT_EQ(relu_backward(dy, r).strided().to_vector<float>(),
            relu_backward(dy, r.strided()).to_vector<float>());
}

}  // namespace
}  // namespace weft::conv_test
