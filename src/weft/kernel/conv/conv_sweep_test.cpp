// Convolutions of many random shapes, and of shapes that go through every path of the kernels,
// against sums in f64 that are written down once more here.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::conv_sweep_test {
namespace {

struct Problem {
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
};

std::string describe(const Problem& p) {
  const auto pair = [](const Pair& v) { return std::to_string(v[0]) + "," + std::to_string(v[1]); };
  return "x " + to_string(p.x) + " weight " + to_string(p.weight) + " stride " +
         pair(p.geometry.stride) + " padding " + pair(p.geometry.padding) + " dilation " +
         pair(p.geometry.dilation) + " groups " + std::to_string(p.geometry.groups);
}

std::int64_t between(Rng& rng, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(rng.uniform() * static_cast<double>(high - low + 1));
}

// Row-major places of an index in four dimensions.
struct Place {
  std::int64_t at[4];
};
Place place_of(const Shape& shape, std::int64_t index) {
  Place place{};
  for (int axis = 3; axis >= 0; --axis) {
    place.at[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return place;
}

// The operands in f64, and sums over them.
class Oracle {
 public:
  Oracle(const Problem& problem, const Array& x, const Array& weight, const Array& dy)
      : p_(problem),
        x_(x.to_vector<float>()),
        weight_(weight.to_vector<float>()),
        dy_(dy.to_vector<float>()),
        y_(dy.shape()) {}

  double y(std::int64_t index) const {
    const Place at = place_of(y_, index);
    const std::int64_t first = at.at[1] / (p_.weight[0] / p_.geometry.groups) * p_.weight[1];
    double sum = 0;
    for (std::int64_t c = 0; c < p_.weight[1]; ++c) {
      for_each_tap([&](std::int64_t i, std::int64_t j) {
        sum += x(at.at[0], first + c, row(at.at[2], i), column(at.at[3], j)) *
               weight(at.at[1], c, i, j);
      });
    }
    return sum;
  }

  double dx(std::int64_t index) const {
    const Place at = place_of(p_.x, index);
    const std::int64_t group = at.at[1] / p_.weight[1];
    const std::int64_t each = p_.weight[0] / p_.geometry.groups;
    double sum = 0;
    for (std::int64_t o = group * each; o < (group + 1) * each; ++o) {
      for_each_tap([&](std::int64_t i, std::int64_t j) {
        const std::int64_t r = from(at.at[2], i, 0);
        const std::int64_t s = from(at.at[3], j, 1);
        if (r < 0 || s < 0 || r >= y_[2] || s >= y_[3]) return;
        sum += dy(at.at[0], o, r, s) * weight(o, at.at[1] % p_.weight[1], i, j);
      });
    }
    return sum;
  }

  double dweight(std::int64_t index) const {
    const Place at = place_of(p_.weight, index);
    const std::int64_t c = at.at[0] / (p_.weight[0] / p_.geometry.groups) * p_.weight[1] + at.at[1];
    double sum = 0;
    for (std::int64_t n = 0; n < y_[0]; ++n) {
      for (std::int64_t r = 0; r < y_[2]; ++r) {
        for (std::int64_t s = 0; s < y_[3]; ++s) {
          sum += dy(n, at.at[0], r, s) * x(n, c, row(r, at.at[2]), column(s, at.at[3]));
        }
      }
    }
    return sum;
  }

  double dbias(std::int64_t o) const {
    double sum = 0;
    for (std::int64_t n = 0; n < y_[0]; ++n) {
      for (std::int64_t i = 0; i < y_[2] * y_[3]; ++i) sum += dy(n, o, i / y_[3], i % y_[3]);
    }
    return sum;
  }

 private:
  template <class Body>
  void for_each_tap(Body body) const {
    for (std::int64_t i = 0; i < p_.weight[2]; ++i) {
      for (std::int64_t j = 0; j < p_.weight[3]; ++j) body(i, j);
    }
  }
  std::int64_t row(std::int64_t out, std::int64_t tap) const {
    return out * p_.geometry.stride[0] - p_.geometry.padding[0] + tap * p_.geometry.dilation[0];
  }
  std::int64_t column(std::int64_t out, std::int64_t tap) const {
    return out * p_.geometry.stride[1] - p_.geometry.padding[1] + tap * p_.geometry.dilation[1];
  }
  // The output that sees pixel `in` through `tap`, or -1.
  std::int64_t from(std::int64_t in, std::int64_t tap, std::size_t axis) const {
    const std::int64_t place = in + p_.geometry.padding[axis] - tap * p_.geometry.dilation[axis];
    return place >= 0 && place % p_.geometry.stride[axis] == 0 ? place / p_.geometry.stride[axis]
                                                               : -1;
  }
  static double at(const std::vector<float>& values, const Shape& shape, std::int64_t a,
                   std::int64_t b, std::int64_t c, std::int64_t d) {
    return values[static_cast<std::size_t>(((a * shape[1] + b) * shape[2] + c) * shape[3] + d)];
  }
  double x(std::int64_t n, std::int64_t c, std::int64_t r, std::int64_t s) const {
    if (r < 0 || s < 0 || r >= p_.x[2] || s >= p_.x[3]) return 0;
    return at(x_, p_.x, n, c, r, s);
  }
  double weight(std::int64_t o, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return at(weight_, p_.weight, o, c, i, j);
  }
  double dy(std::int64_t n, std::int64_t o, std::int64_t r, std::int64_t s) const {
    return at(dy_, y_, n, o, r, s);
  }

  Problem p_;
  std::vector<float> x_;
  std::vector<float> weight_;
  std::vector<float> dy_;
  Shape y_;
};

// At most kChecked elements, spread over all. `terms` products of unit normals have the size
// sqrt(terms).
constexpr std::int64_t kChecked = 120;
template <class Want>
void expect_close(const char* what, const Array& got, std::int64_t terms, Want want) {
  const std::vector<float> values = got.strided().to_vector<float>();
  const auto size = static_cast<std::int64_t>(values.size());
  const std::int64_t step = std::max<std::int64_t>(1, size / kChecked);
  const double tolerance = 2e-5 * std::sqrt(static_cast<double>(terms)) + 1e-5;
  for (std::int64_t i = (size - 1) % step; i < size; i += step) {
    ASSERT_NEAR(double{values[static_cast<std::size_t>(i)]}, want(i), tolerance)
        << what << ", element " << i;
  }
}

void check(const Problem& problem, std::uint64_t seed) {
  SCOPED_TRACE(describe(problem));
  Rng rng(seed);
  const Array x = random_array(problem.x, rng);
  const Array weight = random_array(problem.weight, rng);
  const Shape shape = conv2d_shape(problem.x, problem.weight, problem.geometry);
  const Array dy = random_array(shape, rng);
  const Oracle oracle(problem, x, weight, dy);
  const std::int64_t taps = problem.weight[1] * problem.weight[2] * problem.weight[3];
  const Array y = conv2d_forward(x, weight, Array(), problem.geometry, false);
  expect_close("y", y, taps, [&](std::int64_t i) { return oracle.y(i); });
  Array dweight = Array::empty(problem.weight);
  Array dbias = Array::empty({problem.weight[0]});
  Conv2dWeightGradients out;
  out.weight = &dweight;
  out.bias = &dbias;
  const Array dx = conv2d_backward(dy, {x, weight, Array(), problem.geometry}, out, true);
  expect_close("dx", dx, taps * problem.weight[0] / problem.weight[1] / problem.geometry.groups,
               [&](std::int64_t i) { return oracle.dx(i); });
  const std::int64_t sums = shape[0] * shape[2] * shape[3];
  expect_close("dweight", dweight, sums, [&](std::int64_t i) { return oracle.dweight(i); });
  expect_close("dbias", dbias, sums, [&](std::int64_t i) { return oracle.dbias(i); });
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
