#include "weft/graph/captured_function.h"

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/op/ops.h"

namespace weft::captured_function_test {
namespace {

Array random_array(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed, 0);
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (float& value : values) value = static_cast<float>(rng.uniform() * 2.0 - 1.0);
  return Array::from(values, shape);
}

std::vector<Tensor> difference(std::span<const Tensor> in) {
  return {softmax(in[0] * 2.0 - in[1], -1), sum(in[0])};
}

std::vector<float> eager(const Array& a, const Array& b) {
  const std::vector<Tensor> in = {Tensor(a), Tensor(b)};
  return difference(in)[0].array().to_vector<float>();
}

TEST(CapturedFunction, ReplaysWithOtherInputsAndCapturesOtherShapes) {
  CapturedFunction function(difference);
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    for (const Shape& shape : {Shape{4, 6}, Shape{9, 3}}) {
      const Array a = random_array(shape, seed);
      const Array b = random_array(shape, seed + 10);
      EXPECT_EQ(function({a, b})[0].to_vector<float>(), eager(a, b));
    }
  }
  EXPECT_EQ(function.captures(), 2);
  const Array a = random_array({4, 6}, 5);
  function({a, a}, "another variant");
  EXPECT_EQ(function.captures(), 3);
}

TEST(CapturedFunction, InputsMayBeEqualStridedOrPartsOfOneArray) {
  CapturedFunction function(difference);
  const Array whole = random_array({8, 6}, 1);
  const Array top = whole.slice(0, 0, 4);
  const Array bottom = whole.slice(0, 4, 8);
  const Array turned = random_array({6, 4}, 2).transpose(0, 1);
  EXPECT_EQ(function({top, top})[0].to_vector<float>(), eager(top, top));
  EXPECT_EQ(function({top, bottom})[0].to_vector<float>(), eager(top, bottom));
  EXPECT_EQ(function({turned, bottom})[0].to_vector<float>(), eager(turned, bottom));
  EXPECT_EQ(function({bottom, bottom})[0].to_vector<float>(), eager(bottom, bottom));
  EXPECT_EQ(function.captures(), 1);
}

TEST(CapturedFunction, ResultsThatAreInputsOrViewsOfThemFollowTheCall) {
  CapturedFunction function([](std::span<const Tensor> in) {
    return std::vector<Tensor>{in[0], transpose(in[0], 0, 1), slice(in[1], 0, 1, 3)};
  });
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    const Array a = random_array({4, 6}, seed);
    const Array b = random_array({4, 6}, seed + 10);
    const std::vector<Array>& results = function({a, b});
    EXPECT_EQ(results[0].to_vector<float>(), a.to_vector<float>());
    EXPECT_EQ(results[1].to_vector<float>(), a.transpose(0, 1).to_vector<float>());
    EXPECT_EQ(results[2].to_vector<float>(), b.slice(0, 1, 3).to_vector<float>());
  }
  EXPECT_EQ(function.captures(), 1);
}

TEST(CapturedFunction, InputsMayHaveNoElements) {
  CapturedFunction function([](std::span<const Tensor> in) {
    return std::vector<Tensor>{slice(in[0], 1, 1, 3, 2) * 2.0, sum(in[0])};
  });
  for (int i = 0; i < 3; ++i) {
    const Array empty = Array::zeros({0, 4});
    EXPECT_EQ(function({empty})[0].shape(), (Shape{0, 1}));
  }
  EXPECT_EQ(function.captures(), 1);
}

TEST(CapturedFunction, InsideACaptureItIsAPlainCall) {
  CapturedFunction inner(difference);
  const Array a = random_array({3, 4}, 1);
  Array b = random_array({3, 4}, 2);
  Array y;
  Graph graph = capture([&] { y = inner({a, b})[0].clone(); });
  b.copy_from(random_array({3, 4}, 3));
  graph.replay();
  EXPECT_EQ(y.to_vector<float>(), eager(a, b));
  EXPECT_EQ(inner.captures(), 0);
}

TEST(CapturedFunction, ManyShapesPushTheOldestOut) {
  CapturedFunction function(difference);
  for (std::int64_t n = 1; n <= 12; ++n) {
    const Array a = random_array({n, 2}, 1);
    EXPECT_EQ(function({a, a})[0].to_vector<float>(), eager(a, a));
  }
  const Array a = random_array({1, 2}, 1);
  function({a, a});
  EXPECT_EQ(function.captures(), 13);
}

}  // namespace
}  // namespace weft::captured_function_test
