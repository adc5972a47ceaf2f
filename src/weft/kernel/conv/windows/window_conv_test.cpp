// Convolutions as products with windows, called whether or not conv2d chooses them here, against
// sums in f64.
#include "weft/kernel/conv/windows/window_conv.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/kernel/conv/test_conv_oracle.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::window_conv_test {
namespace {

using conv_oracle::between;
using conv_oracle::describe;
using conv_oracle::Oracle;
using conv_oracle::Problem;

constexpr DType kTypes[] = {DType::kF32, DType::kBF16};

Array random(const Shape& shape, DType dtype, Rng& rng) {
  return convert(random_array(shape, rng), dtype);
}

Array wide(const Array& x) { return convert(x, DType::kF32).strided().contiguous(); }

std::vector<float> values_of(const Array& x) { return wide(x).to_vector<float>(); }

// What is not written stays NaN.
Array unwritten(const Shape& shape, DType dtype) {
  return in_blocks_of_8(convert(
      Array::full(shape, static_cast<double>(std::numeric_limits<float>::quiet_NaN())), dtype));
}

// At most kChecked elements, spread over all. `terms` products of unit normals have the size
// sqrt(terms); bf16 rounds once more, by at most 2^-8.
constexpr std::int64_t kChecked = 150;
template <class Want>
void expect_close(const char* what, const Array& got, std::int64_t terms, Want want) {
  const std::vector<float> values = values_of(got);
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t step = std::max<std::int64_t>(1, size / kChecked);
  const double tolerance = 2e-5 * std::sqrt(static_cast<double>(terms)) + 1e-5;
  const double rounding = got.dtype() == DType::kBF16 ? 0x1p-8 : 0;
  for (std::int64_t i = (size - 1) % step; i < size; i += step) {
    const double sum = want(i);
    ASSERT_NEAR(double{values[static_cast<std::size_t>(i)]}, sum,
                tolerance + rounding * std::abs(sum))
        << what << ", element " << i;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    ASSERT_FALSE(std::isnan(values[static_cast<std::size_t>(i)])) << what << ", element " << i;
  }
}

struct Gradients {
  Array weight;
  Array bias;
};

Gradients backward_weights(const Problem& problem, const Array& x, const Array& dy) {
  Gradients got{Array::empty(problem.weight), Array::empty({problem.weight[0]})};
  windows::conv2d_backward_weights(x, dy, problem.geometry,
                                   {.weight = &got.weight, .bias = &got.bias});
  return got;
}

void check(const Problem& problem, std::uint64_t seed, DType dtype) {
  SCOPED_TRACE(describe(problem) + (dtype == DType::kF32 ? " f32" : " bf16"));
  Rng rng(seed);
  const Array x = random(problem.x, dtype, rng);
  const Array weight = random(problem.weight, dtype, rng);
  const Shape shape = conv2d_shape(problem.x, problem.weight, problem.geometry);
  const Array dy = random(shape, dtype, rng);
  const Array bias = random({problem.weight[0]}, dtype, rng);
  const Oracle oracle(problem, wide(x), wide(weight), wide(dy));
  const std::int64_t taps = problem.weight[1] * problem.weight[2] * problem.weight[3];
  Array y = unwritten(shape, dtype);
  windows::conv2d_forward(x, weight, Array(), problem.geometry, false, y);
  expect_close("y", y, taps, [&](std::int64_t i) { return oracle.y(i); });
  const std::vector<float> offsets = values_of(bias);
  const auto offset = [&](std::int64_t i) {
    return double{offsets[static_cast<std::size_t>(i / (shape[2] * shape[3]) % shape[1])]};
  };
  windows::conv2d_forward(in_blocks_of_8(x), weight, bias, problem.geometry, true, y);
  expect_close("relu of y", y, taps,
               [&](std::int64_t i) { return std::max(0.0, oracle.y(i) + offset(i)); });
  Array dx = unwritten(problem.x, dtype);
  windows::conv2d_backward_data(dy, weight, problem.geometry, dx);
  expect_close("dx", dx, taps * problem.weight[0] / problem.weight[1],
               [&](std::int64_t i) { return oracle.dx(i); });
  const Gradients got = backward_weights(problem, x, dy);
  const std::int64_t sums = shape[0] * shape[2] * shape[3];
  expect_close("dweight", got.weight, sums, [&](std::int64_t i) { return oracle.dweight(i); });
  expect_close("dbias", got.bias, sums, [&](std::int64_t i) { return oracle.dbias(i); });
}

const std::vector<Problem> kProblems = {
    // Tiles along whole planes, and one pixel.
    {{2, 16, 9, 9}, {24, 16, 1, 1}, {}},
    {{5, 8, 1, 1}, {8, 8, 1, 1}, {}},
    // Rows of their own, with windows beyond every edge, and rows that are shorter than a tile.
    {{1, 8, 7, 30}, {8, 8, 3, 3}, {.stride = 2, .padding = 1}},
    {{2, 8, 13, 14}, {16, 8, 5, 5}, {.padding = 2}},
    {{3, 16, 6, 6}, {8, 16, 3, 3}, {.stride = 2, .padding = 1}},
    {{2, 8, 4, 5}, {16, 8, 3, 3}, {.padding = 1}},
    // Pixels that no window reads, and steps in one direction.
    {{1, 8, 20, 20}, {8, 8, 2, 2}, {.stride = 3}},
    {{2, 8, 24, 50}, {8, 8, 1, 1}, {.stride = {1, 2}}},
    {{2, 8, 24, 50}, {8, 8, 1, 1}, {.stride = {2, 1}}},
    {{1, 8, 9, 40}, {8, 8, 1, 3}, {.stride = {1, 4}, .padding = {0, 1}}},
    {{2, 8, 15, 37}, {8, 8, 3, 3}, {.stride = 2, .padding = 2, .dilation = 2}},
    // Windows in several parts, filters in several blocks, and images in several groups.
    {{1, 104, 10, 21}, {40, 104, 3, 3}, {.stride = 2, .padding = 1}},
    {{1, 8, 12, 12}, {536, 8, 1, 1}, {}},
    {{2, 1608, 5, 5}, {16, 1608, 1, 1}, {}},
    {{16, 8, 40, 40}, {8, 8, 1, 1}, {}},
};

TEST(WindowConv, EqualsSumsInF64) {
  for (const DType dtype : kTypes) {
    for (const Problem& problem : kProblems) {
      check(problem, 1, dtype);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WindowConv, RandomShapesEqualSumsInF64) {
  Rng rng(11);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Problem p{
        {between(rng, 1, 3), 8 * between(rng, 1, 4), 0, 0}, {8 * between(rng, 1, 5), 0, 0, 0}, {}};
    p.weight[1] = p.x[1];
    for (int axis = 2; axis < 4; ++axis) {
      const auto i = static_cast<std::size_t>(axis - 2);
      p.weight[axis] = between(rng, 1, 5);
      p.geometry.stride[i] = rng.chance(0.4) ? 1 : between(rng, 1, 4);
      p.geometry.dilation[i] = rng.chance(0.6) ? 1 : between(rng, 1, 3);
      p.geometry.padding[i] = between(rng, 0, 3);
      const std::int64_t reach = p.geometry.dilation[i] * (p.weight[axis] - 1) + 1;
      p.x[axis] =
          std::max<std::int64_t>(1, reach - 2 * p.geometry.padding[i]) + between(rng, 0, 30);
    }
    check(p, seed, kTypes[seed % 2]);
    if (HasFatalFailure()) return;
  }
}

TEST(WindowConv, HasTheSameBitsForAnyThreadCount) {
  const int before = thread_count();
  for (const DType dtype : kTypes) {
    for (const Problem& problem : kProblems) {
      Rng rng(3);
      const Array x = random(problem.x, dtype, rng);
      const Array weight = random(problem.weight, dtype, rng);
      const Shape shape = conv2d_shape(problem.x, problem.weight, problem.geometry);
      const Array dy = random(shape, dtype, rng);
      std::vector<std::vector<float>> first;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        Array y = unwritten(shape, dtype);
        Array dx = unwritten(problem.x, dtype);
        windows::conv2d_forward(x, weight, Array(), problem.geometry, false, y);
        windows::conv2d_backward_data(dy, weight, problem.geometry, dx);
        const Gradients got = backward_weights(problem, x, dy);
        const std::vector<std::vector<float>> results = {
            values_of(y), values_of(dx), values_of(got.weight), values_of(got.bias)};
        if (first.empty()) first = results;
        EXPECT_EQ(results, first) << describe(problem) << ", " << threads << " threads";
      }
    }
  }
  set_thread_count(before);
}

TEST(WindowConv, GradientsOfFiltersAreAdded) {
  for (const DType dtype : kTypes) {
    const Problem problem = kProblems[2];
    Rng rng(4);
    const Array x = random(problem.x, dtype, rng);
    const Array dy = random(conv2d_shape(problem.x, problem.weight, problem.geometry), dtype, rng);
    const Gradients want = backward_weights(problem, x, dy);
    Gradients got{Array::full(problem.weight, 1.0), Array::full({problem.weight[0]}, 2.0)};
    windows::conv2d_backward_weights(x, dy, problem.geometry,
                                     {.weight = &got.weight,
                                      .accumulate_weight = true,
                                      .bias = &got.bias,
                                      .accumulate_bias = true});
    const auto expect_added = [](const Array& sum, const Array& part, float value) {
      const std::vector<float> sums = sum.to_vector<float>();
      const std::vector<float> parts = part.to_vector<float>();
      for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_FLOAT_EQ(sums[i], parts[i] + value);
    };
    expect_added(got.weight, want.weight, 1.0F);
    expect_added(got.bias, want.bias, 2.0F);
  }
}

// One row of NaN in an image reaches only the results that read it.
TEST(WindowConv, NotANumberReachesItsWindowsAlone) {
  for (const DType dtype : kTypes) {
    const Conv2dGeometry geometry{.stride = 2, .padding = 1};
    Array plain = random_array({1, 8, 16, 33}, 5);
    for (std::int64_t c = 0; c < 8; ++c) {
      plain.data<float>()[(c * 16 + 7) * 33 + 20] = std::numeric_limits<float>::quiet_NaN();
    }
    const Array x = convert(plain, dtype);
    const Array weight = convert(random_array({8, 8, 3, 3}, 6), dtype);
    Array y = unwritten({1, 8, 8, 17}, dtype);
    windows::conv2d_forward(x, weight, Array(), geometry, true, y);
    const std::vector<float> values = values_of(y);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t row = i / 17 % 8;
      const std::int64_t column = i % 17;
      const bool reads = (row == 3 || row == 4) && column == 10;
      EXPECT_EQ(std::isnan(values[static_cast<std::size_t>(i)]), reads) << "element " << i;
    }
  }
}

}  // namespace
}  // namespace weft::window_conv_test
