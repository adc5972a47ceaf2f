#include "weft/kernel/pool/pool.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/rng.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/conv/conv.h"
#include "weft/kernel/pool/pool_loops.h"

namespace weft::pool_test {
namespace {

// Has blocks of 8 channels if the processor's convolutions make them.
Array blocked(const Shape& shape, std::uint64_t seed) {
  Rng rng(seed);
  Array x = Array::empty(shape);
  // Few different values, so that windows hold equal ones.
  for (float& value : x.flat<float>()) value = static_cast<float>(rng.below(9)) - 4.0F;
  Array identity = Array::zeros({shape[1], shape[1], 1, 1});
  for (std::int64_t i = 0; i < shape[1]; ++i) identity.data<float>()[i * shape[1] + i] = 1.0F;
  return conv2d_forward(x, identity, {}, {}, false);
}

struct Case {
  Shape x;
  Pool2dGeometry geometry;
};
std::vector<Case> cases() {
  return {{{3, 16, 8, 6}, {}},
          {{2, 24, 7, 9}, {}},
          {{2, 8, 9, 8}, {.kernel = {3, 3}, .stride = {2, 1}, .padding = {1, 1}}},
          {{1, 8, 18, 18}, {.kernel = {17, 16}, .stride = {1, 2}}},
          {{2, 5, 6, 6}, {.kernel = {2, 3}, .stride = {2, 3}}}};
}

TEST(Pool2d, BlockedAndPlainInputsGiveTheSame) {
  for (const Case& c : cases()) {
    const Array x = blocked(c.x, 1);
    const MaxPoolOutput a = max_pool2d_forward(x, c.geometry, true);
    const MaxPoolOutput b = max_pool2d_forward(x.strided(), c.geometry, true);
    EXPECT_EQ(a.y.strided().to_vector<float>(), b.y.to_vector<float>());
    const Array dy = blocked(a.y.shape(), 2);
    EXPECT_EQ(max_pool2d_backward(dy, a, c.x, c.geometry).strided().to_vector<float>(),
              max_pool2d_backward(dy, b, c.x, c.geometry).to_vector<float>());
    EXPECT_EQ(avg_pool2d_forward(x, c.geometry).strided().to_vector<float>(),
              avg_pool2d_forward(x.strided(), c.geometry).to_vector<float>());
    EXPECT_EQ(avg_pool2d_backward(dy, c.x, c.geometry).strided().to_vector<float>(),
              avg_pool2d_backward(dy.strided(), c.x, c.geometry).to_vector<float>());
  }
}

// Windows of one size take the loops of max_pool2d, others their own.
TEST(AdaptiveMaxPool2d, BlockedAndPlainInputsGiveTheSame) {
  for (const Pair& size : {Pair(1), Pair(3), Pair(6, 2), Pair(4, 5), Pair(7, 9), Pair(13)}) {
    const Shape shape{2, 16, 6, 9};
    const Array x = blocked(shape, 1);
    const MaxPoolOutput a = adaptive_max_pool2d_forward(x, size, true);
    const MaxPoolOutput b = adaptive_max_pool2d_forward(x.strided(), size, true);
    EXPECT_EQ(a.y.strided().to_vector<float>(), b.y.strided().to_vector<float>());
    const Array dy = blocked(a.y.shape(), 2);
    EXPECT_EQ(adaptive_max_pool2d_backward(dy, a, shape).strided().to_vector<float>(),
              adaptive_max_pool2d_backward(dy, b, shape).strided().to_vector<float>());
    const Array ddx = blocked(shape, 3);
    EXPECT_EQ(adaptive_max_pool2d_take(ddx, a).strided().to_vector<float>(),
              adaptive_max_pool2d_take(ddx, b).strided().to_vector<float>());
  }
}

TEST(MaxPool2d, TheFirstOfEqualsGetsTheGradient) {
  const Array x = Array::from(std::vector<float>{1, 5, 5, 2, 5, 3, 0, 5}, {1, 1, 2, 4});
  const MaxPoolOutput forward = max_pool2d_forward(x, {}, true);
  EXPECT_EQ(forward.y.to_vector<float>(), (std::vector<float>{5, 5}));
  const Array dx = max_pool2d_backward(Array::from(std::vector<float>{2, 3}, {1, 1, 1, 2}), forward,
                                       x.shape(), {});
  EXPECT_EQ(dx.to_vector<float>(), (std::vector<float>{0, 2, 3, 0, 0, 0, 0, 0}));
}

TEST(MaxPool2d, PaddingNeverWins) {
  const Array x = Array::full({1, 8, 3, 3}, -2.0);
  const MaxPoolOutput forward =
      max_pool2d_forward(x, {.kernel = {2, 2}, .stride = {2, 2}, .padding = {1, 1}}, false);
  EXPECT_FALSE(forward.winners.defined());
  EXPECT_EQ(forward.y.to_vector<float>(), std::vector<float>(32, -2.0F));
}

void append(std::vector<float>& all, const Array& array) {
  const std::vector<float> values = array.strided().to_vector<float>();
  all.insert(all.end(), values.begin(), values.end());
}

TEST(Pool2d, HasTheSameBitsForAnyThreadCount) {
  // Images of which threads have some each, and rows of a single one.
  for (const Shape& shape : {Shape{16, 16, 24, 24}, Shape{3, 40, 24, 20}, Shape{1, 64, 25, 24}}) {
    for (const std::int64_t padding : {1, 0}) {
      const Pool2dGeometry geometry{.kernel = 3, .stride = 1, .padding = padding};
      const Array x = blocked(shape, 3);
      std::vector<std::vector<float>> results;
      for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        std::vector<float> all;
        const MaxPoolOutput forward = max_pool2d_forward(x, geometry, true);
        append(all, forward.y);
        append(all, max_pool2d_forward(x, {}, false).y);
        append(all, max_pool2d_backward(forward.y, forward, shape, geometry));
        append(all, avg_pool2d_forward(x, geometry));
        append(all, avg_pool2d_backward(avg_pool2d_forward(x, geometry), shape, geometry));
        results.push_back(all);
      }
      set_thread_count(1);
      for (const std::vector<float>& result : results) EXPECT_EQ(result, results[0]);
    }
  }
}

// Planes of pixels with `lanes` channels, for windows of all kinds.
std::vector<PoolPlane> planes_with(std::int64_t lanes) {
  std::vector<PoolPlane> planes;
  for (const std::int64_t kernel : {1, 2, 3}) {
    for (const std::int64_t stride : {kernel, std::int64_t{2}}) {
      for (const std::int64_t padding : {std::int64_t{0}, kernel / 2}) {
        const auto out = [&](std::int64_t in) { return (in + 2 * padding - kernel) / stride + 1; };
        planes.push_back({lanes, 7, 22, out(7), out(22), kernel, kernel, stride, stride, padding,
                          padding, 0, out(7)});
      }
    }
  }
  return planes;
}

struct Plane {
  std::vector<float> y;
  std::vector<float> winners;
  std::vector<float> dx;  // of y as the gradient
  std::vector<float> mean;
};

std::size_t in_floats(const PoolPlane& p) {
  return static_cast<std::size_t>(p.in_height * p.in_width * p.lanes);
}
std::size_t out_floats(const PoolPlane& p) {
  return static_cast<std::size_t>(p.out_height * p.out_width * p.lanes);
}

// By the definition, a channel at a time.
Plane by_definition(const PoolPlane& p, const std::vector<float>& x) {
  Plane out{std::vector<float>(out_floats(p)), std::vector<float>(out_floats(p)),
            std::vector<float>(in_floats(p)), std::vector<float>(out_floats(p))};
  for (std::size_t at = 0; at < out_floats(p); ++at) {
    const std::int64_t pixel = static_cast<std::int64_t>(at) / p.lanes;
    float best = -std::numeric_limits<float>::infinity();
    std::size_t winner = 0;
    float sum = 0.0F;
    for (std::int64_t k = 0; k < p.kernel_height * p.kernel_width; ++k) {
      const std::int64_t r =
          pixel / p.out_width * p.stride_height - p.padding_top + k / p.kernel_width;
      const std::int64_t c =
          pixel % p.out_width * p.stride_width - p.padding_left + k % p.kernel_width;
      if (r < 0 || r >= p.in_height || c < 0 || c >= p.in_width) continue;
      const auto from = static_cast<std::size_t>((r * p.in_width + c) * p.lanes) +
                        at % static_cast<std::size_t>(p.lanes);
      sum += x[from];
      if (x[from] <= best) continue;
      best = x[from];
      winner = from;
      out.winners[at] = static_cast<float>(k);
    }
    out.y[at] = best;
    out.dx[winner] += best;
    out.mean[at] = sum * (1.0F / static_cast<float>(p.kernel_height * p.kernel_width));
  }
  return out;
}

// Small whole numbers, which both types hold exactly, as values of T.
template <class T>
std::vector<T> as(const std::vector<float>& values) {
  std::vector<T> result;
  for (const float value : values) {
    if constexpr (std::is_same_v<T, float>) {
      result.push_back(value);
    } else {
      result.push_back(static_cast<T>(std::bit_cast<std::uint32_t>(value) >> 16));
    }
  }
  return result;
}

// Calls run(rows of the plane) for two halves of it, the second one first.
template <class Run>
void in_halves(const PoolPlane& plane, const Run& run) {
  PoolPlane half = plane;
  half.out_begin = plane.out_height / 2;
  run(half);
  half.out_end = half.out_begin;
  half.out_begin = 0;
  run(half);
}

template <class T>
void expect_max(const MaxPoolLoops<T>& loops, const PoolPlane& p, const std::vector<float>& x) {
  const Plane want = by_definition(p, x);
  std::vector<T> y(out_floats(p));
  std::vector<std::uint8_t> winners(out_floats(p));
  loops.forward(p, as<T>(x).data(), y.data(), winners.data());
  EXPECT_EQ(y, as<T>(want.y));
  EXPECT_EQ(std::vector<float>(winners.begin(), winners.end()), want.winners);
  std::vector<T> of_halves(out_floats(p), T{7});
  in_halves(p, [&](const PoolPlane& rows) {
    loops.forward(rows, as<T>(x).data(), of_halves.data(), nullptr);
  });
  EXPECT_EQ(of_halves, y);
  if (p.padding_top > 0 || p.stride_width != p.kernel_width) return;
  std::vector<T> dx(in_floats(p), T{7});
  loops.backward(p, y.data(), winners.data(), dx.data());
  EXPECT_EQ(dx, as<T>(want.dx));
}

void expect_plane(const PoolLoops& loops, const PoolPlane& p, const std::vector<float>& x) {
  if (p.lanes > 1) {
    expect_max(loops.max, p, x);
    expect_max(loops.max_of_bf16, p, x);
  }
  if (p.padding_top > 0) return;
  const Plane want = by_definition(p, x);
  std::vector<float> y(out_floats(p));
  const float share = 1.0F / static_cast<float>(p.kernel_height * p.kernel_width);
  loops.avg_forward(p, x.data(), y.data(), share);
  EXPECT_EQ(y, want.mean);
  std::vector<float> of_halves(out_floats(p));
  in_halves(p, [&](const PoolPlane& rows) {
    loops.avg_forward(rows, x.data(), of_halves.data(), share);
  });
  EXPECT_EQ(of_halves, y);
}

TEST(PoolLoops, FollowTheDefinitionWithEachInstructionSet) {
  Rng rng(4);
  for (const std::int64_t lanes : {1, 8, 16}) {
    for (const PoolPlane& plane : planes_with(lanes)) {
      std::vector<float> x(in_floats(plane));
      for (float& value : x) value = static_cast<float>(rng.below(9)) - 4.0F;
      for (const auto& [isa, loops] : loops_that_run(pool_loops_tables)) {
        expect_plane(*loops, plane, x);
        if (HasFailure()) {
          FAIL() << "instruction set " << static_cast<int>(isa) << ", " << lanes
                 << " lanes, window " << plane.kernel_width << ", stride " << plane.stride_width
                 << ", padding " << plane.padding_top;
        }
      }
    }
  }
}

template <class T>
void expect_nan_stays(const MaxPoolLoops<T>& loops) {
  const PoolPlane plane{8, 2, 2, 1, 1, 2, 2, 2, 2, 0, 0, 0, 1};
  std::vector<float> x(4 * 8, 1.0F);
  x[8 + 3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<T> y(8);
  std::vector<std::uint8_t> winners(8);
  loops.forward(plane, as<T>(x).data(), y.data(), winners.data());
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(y[i] == as<T>({1.0F})[0], i != 3);
    EXPECT_EQ(winners[i], i == 3 ? 1 : 0);
  }
}

TEST(PoolLoops, NaNStays) {
  for (const auto& [isa, loops] : loops_that_run(pool_loops_tables)) {
    expect_nan_stays(loops->max);
    expect_nan_stays(loops->max_of_bf16);
  }
}

}  // namespace
}  // namespace weft::pool_test
