// Convolutions of many random shapes, and of shapes that go through every path of the kernels,
// against sums in f64 that are written down once more here.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/conv/test_conv_oracle.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::conv_sweep_test {
namespace {

using conv_oracle::between;
using conv_oracle::describe;
using conv_oracle::Oracle;
using conv_oracle::Problem;

// At most kChecked elements, spread over all. `terms` products of unit normals have the size
// sqrt(terms). 16 bits are rounded at the end, and some kernels round in between (winograd.h).
constexpr std::int64_t kChecked = 120;
template <class Want>
void expect_close(const char* what, const Array& got, std::int64_t terms, bool half, Want want) {
  const std::vector<float> values =
      convert(got.strided().contiguous(), DType::kF32).to_vector<float>();
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t step = std::max<std::int64_t>(1, size / kChecked);
  const double size_of_sums = std::sqrt(static_cast<double>(terms));
  const double tolerance = (half ? 0.03 : 2e-5) * size_of_sums + 1e-5;
  for (std::int64_t i = (size - 1) % step; i < size; i += step) {
    const double sum = want(i);
    ASSERT_NEAR(double{values[static_cast<std::size_t>(i)]}, sum,
                tolerance + (half ? 0x1p-8 * std::abs(sum) : 0))
        << what << ", element " << i;
  }
}

void check(const Problem& problem, std::uint64_t seed, DType dtype = DType::kF32) {
  const bool half = dtype != DType::kF32;
  SCOPED_TRACE(describe(problem) + (half ? ", 16 bits" : ""));
  Rng rng(seed);
  const auto random = [&](const Shape& shape) { return convert(random_array(shape, rng), dtype); };
  const auto wide = [](const Array& array) { return convert(array, DType::kF32); };
  const Array x = random(problem.x);
  const Array weight = random(problem.weight);
  const Shape shape = conv2d_shape(problem.x, problem.weight, problem.geometry);
  const Array dy = random(shape);
  const Oracle oracle(problem, wide(x), wide(weight), wide(dy));
  const std::int64_t taps = problem.weight[1] * problem.weight[2] * problem.weight[3];
  const Array y = conv2d_forward(x, weight, Array(), problem.geometry, false);
  ASSERT_EQ(y.dtype(), dtype);
  expect_close("y", y, taps, half, [&](std::int64_t i) { return oracle.y(i); });
  Array dweight = Array::empty(problem.weight);
  Array dbias = Array::empty({problem.weight[0]});
  Conv2dWeightGradients out;
  out.weight = &dweight;
  out.bias = &dbias;
  const Array dx = conv2d_backward(dy, {x, weight, Array(), problem.geometry}, out, true);
  ASSERT_EQ(dx.dtype(), dtype);
  expect_close("dx", dx, taps * problem.weight[0] / problem.weight[1] / problem.geometry.groups,
               half, [&](std::int64_t i) { return oracle.dx(i); });
  const std::int64_t sums = shape[0] * shape[2] * shape[3];
  expect_close("dweight", dweight, sums, half, [&](std::int64_t i) { return oracle.dweight(i); });
  expect_close("dbias", dbias, sums, half, [&](std::int64_t i) { return oracle.dbias(i); });
}

// Sides 1 to 13, windows up to 5 and larger than the image without its padding, strides with a
// remainder, dilation, groups up to one for each channel.
Problem random_problem(Rng& rng) {
  Problem p;
  const std::int64_t groups = std::int64_t{1} << between(rng, 0, 2);
  const bool blocks = rng.chance(0.4);
  const std::int64_t unit = blocks ? 8 : 1;
  const std::int64_t inputs = unit * between(rng, 1, 4);
  const std::int64_t outputs = unit * between(rng, 1, 4);
  p.geometry.groups = rng.chance(0.4) ? groups : 1;
  if (rng.chance(0.15)) p.geometry.groups = inputs * groups;  // one input channel a group
  const bool depthwise = p.geometry.groups == inputs * groups;
  p.x = {between(rng, 1, 3), depthwise ? p.geometry.groups : inputs * p.geometry.groups, 0, 0};
  p.weight = {outputs * p.geometry.groups, depthwise ? 1 : inputs, 0, 0};
  for (int axis = 2; axis < 4; ++axis) {
    const auto i = static_cast<std::size_t>(axis - 2);
    p.weight[axis] = rng.chance(0.4) ? 3 : between(rng, 1, 5);
    p.geometry.stride[i] = rng.chance(0.5) ? 1 : between(rng, 1, 4);
    p.geometry.dilation[i] = rng.chance(0.6) ? 1 : between(rng, 1, 3);
    p.geometry.padding[i] = between(rng, 0, 3);
    const std::int64_t reach = p.geometry.dilation[i] * (p.weight[axis] - 1) + 1;
    const std::int64_t least = std::max<std::int64_t>(1, reach - 2 * p.geometry.padding[i]);
    p.x[axis] = least + between(rng, 0, 9);
  }
  return p;
}

TEST(ConvSweep, RandomShapesEqualSumsInF64) {
  Rng rng(7);
  for (std::uint64_t i = 0; i < 150; ++i) {
    check(random_problem(rng), i);
    if (HasFatalFailure()) return;
  }
}

// Whatever kernel takes them, as they are or converted.
TEST(ConvSweep, RandomShapesOf16BitsEqualSumsInF64) {
  Rng rng(8);
  for (std::uint64_t i = 0; i < 150; ++i) {
    check(random_problem(rng), i, i % 3 == 0 ? DType::kF16 : DType::kBF16);
    if (HasFatalFailure()) return;
  }
}

TEST(ConvSweep, TilesAtEveryEdgeEqualSumsInF64) {
  for (std::int64_t height = 3; height <= 10; ++height) {
    for (std::int64_t padding = 0; padding <= 2; ++padding) {
      const Conv2dGeometry geometry{.padding = {padding, 2 - padding}};
      check({{2, 8, height, 13 - height + 2}, {24, 8, 3, 3}, geometry}, 1);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ConvSweep, FewChannelsEqualSumsInF64) {
  // LeNet's layers, and as many channels and pixels as its kernel takes, and one more.
  check({{3, 1, 28, 28}, {6, 1, 5, 5}, {.padding = {2, 2}}}, 1);
  check({{3, 6, 14, 14}, {16, 6, 5, 5}, {}}, 2);
  check({{2, 15, 61, 65}, {16, 15, 3, 3}, {.padding = {1, 1}, .dilation = {1, 1}}}, 3);
  check({{2, 15, 61, 66}, {16, 15, 3, 3}, {.padding = {1, 1}, .dilation = {1, 1}}}, 4);
  check({{2, 3, 9, 40}, {17, 3, 3, 5}, {.padding = {0, 2}, .dilation = {2, 3}}}, 5);
  check({{2, 3, 9, 40}, {13, 3, 3, 5}, {.padding = {0, 2}, .dilation = {2, 3}}}, 6);
}

TEST(ConvSweep, ManyChannelsTilesAndImagesEqualSumsInF64) {
  const Conv2dGeometry same{.padding = {1, 1}};
  // Filters in several chunks, in one group of tiles and in several.
  check({{3, 256, 4, 4}, {288, 256, 3, 3}, same}, 1);
  check({{70, 232, 11, 9}, {200, 232, 3, 3}, same}, 2);
  // An image of more tiles than a group has.
  check({{2, 16, 101, 83}, {8, 16, 3, 3}, same}, 3);
  // The layers of a small residual network.
  check({{5, 64, 32, 32}, {128, 64, 3, 3}, same}, 4);
  check({{9, 128, 16, 16}, {128, 128, 3, 3}, same}, 5);
  check({{4, 512, 4, 4}, {512, 512, 3, 3}, same}, 6);
}

}  // namespace
}  // namespace weft::conv_sweep_test
