// Matching: assignments against all permutations, models whose units have changed places, and
// liars.
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/base/rng.h"
#include "weft/mix/combine/assignment.h"
#include "weft/mix/combine/mix_combine.h"
#include "weft/mix/combine/test_mix_probe.h"
#include "weft/mix/mix_method.h"

namespace weft::mix_match_test {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

double total(const std::vector<double>& gain, const std::vector<std::size_t>& columns) {
  double sum = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) sum += gain[i * columns.size() + columns[i]];
  return sum;
}

TEST(Assignment, IsTheBestOfAllPermutations) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::size_t n = 1 + seed % 6;
    Rng draws(seed);
    std::vector<double> gain(n * n);
    // Whole numbers, so that several are equally good.
    for (double& value : gain) value = static_cast<double>(draws.below(seed % 2 == 0 ? 9 : 999));
    std::vector<std::size_t> columns(n);
    std::iota(columns.begin(), columns.end(), 0U);
    double best = total(gain, columns);
    while (std::next_permutation(columns.begin(), columns.end())) {
      best = std::max(best, total(gain, columns));
    }
    std::vector<std::size_t> found = best_assignment(gain, n);
    EXPECT_EQ(total(gain, found), best) << seed;
    std::ranges::sort(found);
    EXPECT_EQ(std::ranges::adjacent_find(found), found.end()) << seed;
  }
  EXPECT_TRUE(best_assignment({}, 0).empty());
}

std::vector<float> random_model(std::uint64_t seed) {
  Rng draws(seed);
  std::vector<float> model(TestMixProbe::kElements);
  for (float& value : model) value = static_cast<float>(draws.normal());
  return model;
}

const std::vector<std::size_t> kOrder = {3, 0, 4, 2, 1};

TEST(PermutedUnits, LeaveTheOutputsUnchanged) {
  TestMixProbe probe;
  const std::vector<float> model = random_model(1);
  std::vector<float> moved = model;
  permute_units(moved, probe.layers().front(), kOrder);
  EXPECT_NE(moved, model);
  EXPECT_THAT(probe.outputs(moved), Pointwise(FloatNear(1e-5F), probe.outputs(model)));
}

// What two members with equal weights combine to at member 0.
std::vector<float> mixed(const std::vector<float>& own, const std::vector<float>& other) {
  TestMixProbe probe;
  const std::vector<float> reference(own.size(), 0.5F);
  std::vector<std::vector<float>> deltas = {reference, reference};
  for (std::size_t i = 0; i < own.size(); ++i) {
    deltas[0][i] -= own[i];
    deltas[1][i] -= other[i];
  }
  const std::vector<MixTensor> tensors = {{0, own.size(), true}};
  const MixInput input{.reference = reference,
                       .deltas = {deltas.begin(), deltas.end()},
                       .from = {0, 1},
                       .weights = {0.5, 0.5},
                       .tensors = tensors,
                       .members = 2,
                       .self = 0,
                       .probe = &probe};
  std::vector<float> out(own.size());
  MixCombine::parse("match", 0)->make(1)->combine(input, out);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = reference[i] - out[i];
  return out;
}

TEST(MatchCombine, FindsTheUnitsThatChangedPlaces) {
  TestMixProbe probe;
  const std::vector<float> own = random_model(2);
  std::vector<float> other = own;
  permute_units(other, probe.layers().front(), kOrder);
  EXPECT_THAT(mixed(own, other), Pointwise(FloatNear(1e-5F), own));
}

TEST(MatchCombine, ModelsOfOneOrderAreThePlainMean) {
  const std::vector<float> own = random_model(3);
  std::vector<float> other = own;
  for (float& value : other) value *= 1.1F;
  std::vector<float> mean = own;
  for (std::size_t i = 0; i < own.size(); ++i) mean[i] = (own[i] + other[i]) / 2;
  EXPECT_THAT(mixed(own, other), Pointwise(FloatNear(1e-5F), mean));
}

TEST(MatchCombine, UnitsThatNeverMoveAndNoNumbersAreMatchedSomehow) {
  const std::vector<float> own = random_model(4);
  std::vector<float> zero(own.size(), 0.0F);
  std::vector<float> half = own;
  for (float& value : half) value /= 2;
  EXPECT_THAT(mixed(own, zero), Pointwise(FloatNear(1e-5F), half));
  std::vector<float> liar(own.size(), std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(mixed(own, liar).size(), own.size());
}

TEST(MatchCombine, NeedsNeighbours) {
  for (const char* const method : {"fedavg", "modest", "ad_psgd"}) {
    const auto refused = MixMethod::parse({.method = method, .combine = "match"});
    ASSERT_FALSE(refused.ok()) << method;
    EXPECT_THAT(refused.status().message(), HasSubstr("mix.combine")) << method;
  }
}

}  // namespace
}  // namespace weft::mix_match_test
