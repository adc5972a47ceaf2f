// The sizes of windows: one number for both axes, and which one is wrong.
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/testing/test_refusal.h"
#include "weft/nn/layers.h"
#include "weft/op/ops.h"

namespace weft::sizes_test {
namespace {

using testing::HasSubstr;

Tensor ones(const Shape& shape) { return Tensor(Array::full(shape, 1.0)); }

// One number is for both axes, wherever {height, width} is asked for.
TEST(WindowSizes, OfOneNumberHoldForBothAxes) {
  const Tensor x = ones({1, 1, 8, 8});
  Conv2d padded({.inputs = 1, .outputs = 1, .kernel = 5, .padding = 2});
  EXPECT_EQ(padded.forward(x).shape(), (Shape{1, 1, 8, 8}));
  Conv2d strided({.inputs = 1, .outputs = 1, .stride = 2, .padding = 1});
  EXPECT_EQ(strided.forward(x).shape(), (Shape{1, 1, 4, 4}));
  Conv2d dilated({.inputs = 1, .outputs = 1, .kernel = {3, 1}, .dilation = 2});
  EXPECT_EQ(dilated.forward(x).shape(), (Shape{1, 1, 4, 8}));
  ConvTranspose2d back({.inputs = 1, .outputs = 1, .kernel = 2, .stride = 2});
  EXPECT_EQ(back.forward(x).shape(), (Shape{1, 1, 16, 16}));
  EXPECT_EQ(max_pool2d(x, {.kernel = 3, .stride = 2, .padding = 1}).shape(), (Shape{1, 1, 4, 4}));
  EXPECT_EQ(avg_pool2d(x, {.kernel = 4}).shape(), (Shape{1, 1, 2, 2}));
  EXPECT_EQ(adaptive_avg_pool2d(x, 3).shape(), (Shape{1, 1, 3, 3}));
  EXPECT_EQ(upsample2d(x, {.size = 5}).shape(), (Shape{1, 1, 5, 5}));
}

TEST(WindowSizes, ThatAreWrongAreNamed) {
  const auto conv = [](const Conv2dShape& shape) { return refusal([&] { Conv2d layer(shape); }); };
  EXPECT_THAT(conv({.kernel = {3, 0}}), HasSubstr("kernel of at least 1, got {3, 0}"));
  EXPECT_THAT(conv({.stride = 0}), HasSubstr("stride of at least 1, got 0"));
  EXPECT_THAT(conv({.padding = {0, -1}}), HasSubstr("padding of at least 0, got {0, -1}"));
  EXPECT_THAT(conv({.dilation = 0}), HasSubstr("dilation of at least 1, got 0"));
  EXPECT_THAT(conv({.inputs = 0}), HasSubstr("inputs of at least 1, got 0"));
  EXPECT_THAT(refusal([] { Linear layer(3, 0); }), HasSubstr("outputs of at least 1, got 0"));
  EXPECT_THAT(refusal([] {
                max_pool2d(ones({1, 1, 8, 8}), {.kernel = {2, 0}});
              }),
              HasSubstr("kernel of at least 1, got {2, 0}"));
  const auto plain = [](const Conv2dOptions& options) {
    return refusal([&] { conv2d(ones({1, 1, 8, 8}), ones({1, 1, 3, 3}), {}, options); });
  };
  EXPECT_THAT(plain({.stride = {1, 0}}), HasSubstr("stride of at least 1, got {1, 0}"));
  EXPECT_THAT(plain({.dilation = 0}), HasSubstr("dilation of at least 1, got 0"));
}

}  // namespace
}  // namespace weft::sizes_test
