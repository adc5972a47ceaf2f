#include "weft/kernel/conv/few/few_channels_loops.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "weft/base/testing/test_isa_loops.h"
#include "weft/kernel/core/test_random_array.h"

namespace weft::few_channels_loops_test {
namespace {

using Floats = std::vector<float>;

struct PassCase {
  std::int64_t outputs;
  std::int64_t depth;
  std::int64_t positions;
  bool bias;
  bool relu;
};
constexpr float kUntouched = 7.0F;

// Taps that do not grow, as those of a filter that is read backwards would be.
std::vector<std::int64_t> taps_of(const PassCase& c) {
  std::vector<std::int64_t> taps;
  for (std::int64_t k = 0; k < c.depth; ++k) taps.push_back(5 * k % 13);
  return taps;
}

struct Operands {
  explicit Operands(const PassCase& c)
      : x(random_floats(13 + c.positions + kFewChannelsSlack, 1)),
        weight(random_floats(c.outputs * c.depth, 2)),
        bias(random_floats(c.outputs, 3)) {}
  Floats x;
  Floats weight;
  Floats bias;
};

Floats by_loops(const FewChannelsLoops& loops, const PassCase& c) {
  const Operands in(c);
  const std::vector<std::int64_t> taps = taps_of(c);
  const std::int64_t step = c.positions + kFewChannelsSlack;
  Floats y(static_cast<std::size_t>(c.outputs * step + 1), kUntouched);
  loops.convolve({in.x.data(), taps.data(), in.weight.data(), c.depth,
                  c.bias ? in.bias.data() : nullptr, c.relu, c.outputs, c.positions, y.data(),
                  step});
  EXPECT_EQ(y.back(), kUntouched);
  Floats result;
  for (std::int64_t o = 0; o < c.outputs; ++o) {
    result.insert(result.end(), y.begin() + o * step, y.begin() + o * step + c.positions);
  }
  return result;
}

std::vector<double> plain_sums(const PassCase& c) {
  const Operands in(c);
  const std::vector<std::int64_t> taps = taps_of(c);
  std::vector<double> result;
  for (std::int64_t o = 0; o < c.outputs; ++o) {
    for (std::int64_t p = 0; p < c.positions; ++p) {
      double sum = c.bias ? double{in.bias[static_cast<std::size_t>(o)]} : 0.0;
      for (std::int64_t k = 0; k < c.depth; ++k) {
        const std::int64_t at = taps[static_cast<std::size_t>(k)] + p;
        sum += double{in.weight[static_cast<std::size_t>(o * c.depth + k)]} *
               double{in.x[static_cast<std::size_t>(at)]};
      }
      result.push_back(c.relu ? std::max(sum, 0.0) : sum);
    }
  }
  return result;
}

void expect_agreement(const PassCase& c) {
  const std::vector<double> want = plain_sums(c);
  Floats fused;
  for (const auto& [isa, loops] : loops_that_run(few_channels_loops_tables)) {
    SCOPED_TRACE(static_cast<int>(isa));
    const Floats got = by_loops(*loops, c);
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4);
    if (isa == Isa::kGeneric) continue;
    if (fused.empty()) fused = got;
    EXPECT_EQ(got, fused);
  }
}

TEST(FewChannelsLoops, InstructionSetsAgreeForAnyNumberOfOutputs) {
  for (std::int64_t outputs = 1; outputs <= 16; ++outputs) {
    expect_agreement({outputs, 25, 70, true, outputs % 2 == 0});
    if (HasFatalFailure()) return;
  }
}

TEST(FewChannelsLoops, InstructionSetsAgreeForAnyNumberOfPositions) {
  for (std::int64_t positions = 1; positions <= 130; ++positions) {
    expect_agreement({7, 9, positions, positions % 3 != 0, false});
    if (HasFatalFailure()) return;
  }
}

// The sums of each weight, whose lanes and outputs lie apart.
Floats weight_sums_by_loops(const FewChannelsLoops& loops, const PassCase& c) {
  const Floats x = random_floats(13 + c.positions, 4);
  const Floats g = random_floats(c.outputs * c.positions, 5);
  const std::vector<std::int64_t> taps = taps_of(c);
  Floats sums(static_cast<std::size_t>(c.outputs * c.depth * kFewChannelsLanes), 0.5F);
  loops.weight_sums(
      {x.data(), taps.data(), c.depth, g.data(), c.positions, c.outputs, c.positions, sums.data()});
  return sums;
}

double plain_weight_sum(const PassCase& c, std::int64_t o, std::int64_t k, std::int64_t lane) {
  const Floats x = random_floats(13 + c.positions, 4);
  const Floats g = random_floats(c.outputs * c.positions, 5);
  const std::int64_t tap = taps_of(c)[static_cast<std::size_t>(k)];
  double sum = 0.5;
  for (std::int64_t p = lane; p < c.positions; p += kFewChannelsLanes) {
    sum += double{x[static_cast<std::size_t>(tap + p)]} *
           double{g[static_cast<std::size_t>(o * c.positions + p)]};
  }
  return sum;
}

void expect_plain_weight_sums(const PassCase& c, const Floats& got) {
  std::size_t at = 0;
  for (std::int64_t o = 0; o < c.outputs; ++o) {
    for (std::int64_t k = 0; k < c.depth; ++k) {
      for (std::int64_t lane = 0; lane < kFewChannelsLanes; ++lane, ++at) {
        ASSERT_NEAR(got[at], plain_weight_sum(c, o, k, lane), 1e-5);
      }
    }
  }
}

TEST(FewChannelsLoops, SumsOfWeightsAgreeForAnyNumberOfOutputsAndTaps) {
  for (std::int64_t outputs = 1; outputs <= 5; ++outputs) {
    for (std::int64_t depth = 1; depth <= 13; ++depth) {
      const PassCase c{outputs, depth, 24 + 8 * (depth % 3), false, false};
      Floats fused;
      for (const auto& [isa, loops] : loops_that_run(few_channels_loops_tables)) {
        SCOPED_TRACE(static_cast<int>(isa));
        const Floats got = weight_sums_by_loops(*loops, c);
        expect_plain_weight_sums(c, got);
        if (isa == Isa::kGeneric) continue;
        if (fused.empty()) fused = got;
        EXPECT_EQ(got, fused);
      }
    }
  }
}

}  // namespace
}  // namespace weft::few_channels_loops_test
