#include "weft/kernel/conv/direct_weights_loops.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::direct_weights_loops_test {
namespace {

using Floats = std::vector<float>;

// A pass over one image of 5 rows and `width` columns of results, with steps of two pixels.
struct PassCase {
  std::int64_t blocks;
  std::int64_t taps;
  std::int64_t width;
};
constexpr std::int64_t kRows = 5;
constexpr std::int64_t kLanes = 8;

Floats by_loops(const DirectWeightsLoops& loops, const PassCase& c) {
  std::vector<std::int64_t> taps;
  for (std::int64_t t = 0; t < c.taps; ++t) taps.push_back(3 * t);
  const std::int64_t row_step = 2 * c.width + 3;
  const Floats x = random_floats(kRows * row_step + 3 * c.taps, 1);
  const Floats gradients = random_floats(c.blocks * kRows * c.width * kLanes, 2);
  Floats sums(static_cast<std::size_t>(2 * kLanes * c.taps), 1.0F);
  const float* const any = gradients.data();
  loops.weight_sums({x.data(),
                     taps.data(),
                     c.taps,
                     row_step,
                     2,
                     any,
                     kRows * c.width * kLanes,
                     c.blocks,
                     kRows,
                     c.width,
                     sums.data(),
                     {any, any, any, any}});
  return sums;
}

// As the loops read them, in the same order of additions.
std::vector<double> plain_sums(const PassCase& c) {
  const std::int64_t row_step = 2 * c.width + 3;
  const Floats x = random_floats(kRows * row_step + 3 * c.taps, 1);
  const Floats gradients = random_floats(c.blocks * kRows * c.width * kLanes, 2);
  std::vector<double> sums(static_cast<std::size_t>(2 * kLanes * c.taps), 1.0);
  for (std::int64_t t = 0; t < c.taps; ++t) {
    for (std::int64_t i = 0; i < c.blocks * kRows * c.width * kLanes; ++i) {
      const std::int64_t pixel = i / kLanes % (kRows * c.width);
      const std::int64_t block = i / (kRows * c.width * kLanes);
      const std::int64_t at = 3 * t + pixel / c.width * row_step + pixel % c.width * 2;
      sums[static_cast<std::size_t>((2 * t + block) * kLanes + i % kLanes)] +=
          double{x[static_cast<std::size_t>(at)]} * double{gradients[static_cast<std::size_t>(i)]};
    }
  }
  return sums;
}

TEST(DirectWeightsLoops, InstructionSetsAgreeOnSums) {
  for (const std::int64_t blocks : {1, 2}) {
    for (const std::int64_t taps : {1, 5, 9, 14, 15, 27}) {
      for (const std::int64_t width : {1, 4, 7}) {
        const PassCase c{blocks, taps, width};
        const std::vector<double> want = plain_sums(c);
        Floats fused;
        for (const auto& [isa, loops] : loops_that_run(direct_weights_loops_tables)) {
          const Floats sums = by_loops(*loops, c);
          for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(sums[i], want[i], 1e-4);
          if (isa == Isa::kGeneric) continue;
          if (fused.empty()) fused = sums;
          EXPECT_EQ(sums, fused) << "instruction set " << static_cast<int>(isa);
        }
      }
    }
  }
}

TEST(DirectWeightsLoops, InstructionSetsAgreeOnMasks) {
  constexpr std::int64_t kPixels = 13;
  const Floats dy = random_floats(kPixels * kLanes, 3);
  Floats y = random_floats(kPixels * kLanes, 4);
  y[5] = 0.0F;
  for (const float* const mask : {static_cast<const float*>(nullptr), std::as_const(y).data()}) {
    Floats first;
    for (const auto& [isa, loops] : loops_that_run(direct_weights_loops_tables)) {
      Floats all(dy.size() + kLanes, 1.0F);
      loops->mask({dy.data(), mask, kPixels}, all.data(), all.data() + dy.size());
      for (std::size_t i = 0; i < dy.size(); ++i) {
        EXPECT_EQ(all[i], mask == nullptr || y[i] > 0.0F ? dy[i] : 0.0F);
      }
      if (first.empty()) first = all;
      EXPECT_EQ(all, first) << "instruction set " << static_cast<int>(isa);
    }
  }
}

}  // namespace
}  // namespace weft::direct_weights_loops_test
