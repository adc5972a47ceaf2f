#include "weft/kernel/conv/few/first_layer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/parallel.h"
#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/conv/conv_plain.h"
#include "weft/kernel/conv/few/first_layer_loops.h"
#include "weft/kernel/core/onednn.h"
#include "weft/kernel/core/test_random_array.h"
#include "weft/kernel/elementwise/convert.h"

namespace weft::first_layer_test {
namespace {

struct Case {
  std::string name;
  Shape x;
  Shape weight;
  Conv2dGeometry geometry;
};
const std::vector<Case> kCases = {
    {"one channel", {3, 1, 13, 11}, {32, 1, 3, 3}, {}},
    {"half a panel", {2, 3, 9, 14}, {40, 3, 3, 3}, {.padding = 1}},
    {"bands", {1, 3, 40, 7}, {64, 3, 3, 3}, {.padding = {2, 1}}},
    {"steps", {2, 3, 37, 35}, {24, 3, 7, 7}, {.stride = 2, .padding = 3}},
    {"unequal", {2, 2, 20, 23}, {24, 2, 2, 5}, {.stride = {3, 2}, .padding = {0, 2}}},
    {"dilated", {1, 4, 12, 15}, {32, 4, 3, 3}, {.padding = {3, 0}, .dilation = {3, 2}}},
    {"no pixel of the image", {1, 1, 1, 1}, {24, 1, 1, 1}, {.stride = 2, .padding = 2}},
    {"windows end before the image", {1, 1, 9, 9}, {24, 1, 2, 2}, {.stride = 5}},
};

Array wide(const Array& array) { return array.strided().to(DType::kF64).contiguous(); }

Array run(const Case& c, const Array& x, const Array& weight, const Array& bias, bool relu) {
  Array y = blocks_of_8(conv2d_shape(c.x, c.weight, c.geometry), x.dtype(), x.device());
  first_layer::conv2d_forward(x, weight, bias, c.geometry, relu, y);
  return y;
}

std::vector<float> values_of(const Array& x) {
  return convert(x, DType::kF32).strided().to_vector<float>();
}

TEST(FirstLayer, EqualsPlainLoopsAndIsRoundedOnceToBf16) {
  for (const Case& c : kCases) {
    const Array x = convert(random_array(c.x, 1), DType::kBF16);
    const Array weight = convert(random_array(c.weight, 2), DType::kBF16);
    const Array bias = convert(random_array({c.weight[0]}, 3), DType::kBF16);
    const auto single = [](const Array& half) { return convert(half, DType::kF32); };
    for (const bool relu : {false, true}) {
      const Array y = run(c, single(x), single(weight), single(bias), relu);
      const std::vector<double> want =
          plain::conv2d_forward(wide(x), wide(weight), wide(bias), c.geometry, relu)
              .to_vector<double>();
      const std::vector<float> got = values_of(y);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(double{got[i]}, want[i], 1e-5 * (1 + std::abs(want[i]))) << c.name << ", " << i;
      }
      EXPECT_EQ(values_of(run(c, x, weight, bias, relu)), values_of(convert(y, DType::kBF16)))
          << c.name;
    }
    EXPECT_EQ(values_of(run(c, x, weight, {}, false)),
              values_of(convert(run(c, single(x), single(weight), {}, false), DType::kBF16)));
  }
}

TEST(FirstLayer, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = thread_count();
  const Case& c = kCases[2];
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 3}) {
    set_thread_count(threads);
    results.push_back(values_of(run(c, random_array(c.x, 4), random_array(c.weight, 5), {}, true)));
  }
  set_thread_count(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// A row of results, as many panels at a time as the loops take.
std::vector<float> row_by(const FirstLayerLoops& loops, std::int64_t pixels, std::int64_t panels) {
  constexpr std::int64_t kDepth = 5;
  const std::vector<std::int64_t> taps = {0, 3, 1, 9, 4};
  const std::vector<float> x = random_floats(2 * pixels + 10, 6);
  const std::vector<float> weights = random_floats(panels * kDepth * kFirstLayerPanel, 7);
  const std::vector<float> bias = random_floats(panels * kFirstLayerPanel, 8);
  std::vector<float> y(static_cast<std::size_t>(panels * kFirstLayerPanel * pixels));
  for (std::int64_t panel = 0; panel < panels; panel += loops.panels) {
    const std::int64_t count = std::min(loops.panels, panels - panel);
    loops.convolve(
        {x.data(), taps.data(), kDepth, 2, weights.data() + panel * kDepth * kFirstLayerPanel,
         kDepth * kFirstLayerPanel, count, bias.data() + panel * kFirstLayerPanel, true, pixels,
         y.data() + panel * kFirstLayerPanel * pixels, kFirstLayerBlock * pixels, 2 * count});
  }
  return y;
}

TEST(FirstLayerLoops, InstructionSetsWithFusedMultiplicationsAgree) {
  for (const std::int64_t panels : {1, 2, 3}) {
    for (const std::int64_t pixels : {1, 5, 6, 7, 12, 13, 25}) {
      std::vector<float> fused;
      for (const auto& [isa, loops] : loops_that_run(first_layer_loops_tables)) {
        if (isa == Isa::kGeneric) continue;
        const std::vector<float> y = row_by(*loops, pixels, panels);
        if (fused.empty()) fused = y;
        EXPECT_EQ(y, fused) << panels << " panels, " << pixels << " pixels";
      }
    }
  }
}

}  // namespace
}  // namespace weft::first_layer_test
