#include "weft/kernel/pool/pool.h"

#include <algorithm>
#include <limits>
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

TEST(Pool2d, HasTheSameBitsForAnyThreadCount) {
  const Pool2dGeometry geometry{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  const Array x = blocked({16, 16, 24, 24}, 3);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    const MaxPoolOutput forward = max_pool2d_forward(x, geometry, true);
    std::vector<float> all =
        max_pool2d_backward(x, forward, x.shape(), geometry).strided().to_vector<float>();
    const std::vector<float> mean =
        avg_pool2d_backward(avg_pool2d_forward(x, geometry), x.shape(), geometry)
            .strided()
            .to_vector<float>();
    all.insert(all.end(), mean.begin(), mean.end());
    results.push_back(all);
  }
  set_thread_count(1);
  EXPECT_EQ(results[0], results[1]);
}

TEST(PoolLoops, AllInstructionSetsAgree) {
  for (const std::int64_t kernel : {1, 2, 3}) {
    const PoolPlane plane{7, 8, 7 / kernel, 8 / kernel, kernel, kernel, kernel, kernel};
    const auto in_floats = static_cast<std::size_t>(plane.in_height * plane.in_width * kPoolLanes);
    const auto out_floats =
        static_cast<std::size_t>(plane.out_height * plane.out_width * kPoolLanes);
    Rng rng(4);
    std::vector<float> x(in_floats);
    for (float& value : x) value = static_cast<float>(rng.below(9)) - 4.0F;
    std::vector<std::vector<float>> first;
    for (const auto& [isa, loops] : loops_that_run(pool_loops_tables)) {
      std::vector<float> y(out_floats);
      std::vector<std::uint8_t> winners(out_floats);
      loops->max_forward(plane, x.data(), y.data(), winners.data());
      std::vector<float> dx(in_floats, 7.0F);
      loops->max_backward(plane, y.data(), winners.data(), dx.data());
      const std::vector<std::vector<float>> all{
          y, std::vector<float>(winners.begin(), winners.end()), dx};
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << "instruction set " << static_cast<int>(isa);
    }
  }
}

TEST(PoolLoops, NaNStays) {
  const PoolPlane plane{2, 2, 1, 1, 2, 2, 2, 2};
  for (const auto& [isa, loops] : loops_that_run(pool_loops_tables)) {
    std::vector<float> x(4 * kPoolLanes, 1.0F);
    x[kPoolLanes + 3] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> y(kPoolLanes);
    std::vector<std::uint8_t> winners(kPoolLanes);
    loops->max_forward(plane, x.data(), y.data(), winners.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(y[i] == 1.0F, i != 3);
      EXPECT_EQ(winners[i], i == 3 ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace weft::pool_test
