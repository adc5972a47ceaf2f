#include "weft/app/compare/figures.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/compare/test_comparison.h"

namespace weft::figures_test {
namespace {

using test_comparison::entrant_of;
using test_comparison::run_of;
using testing::HasSubstr;
using testing::Not;

Comparison comparison_of(std::vector<Entrant> entrants, std::vector<std::int64_t> seeds) {
  Comparison out;
  out.entrants = std::move(entrants);
  out.seeds = std::move(seeds);
  return out;
}

// Means 0.90 and 0.80; sample deviations of {0.89, 0.90, 0.91} and {0.79, 0.80, 0.81}: 0.01 each,
// together 0.01 * sqrt(2) = 0.0141.
Comparison clear_win() {
  return comparison_of(
      {entrant_of("good", {run_of(1, {0.5, 0.89}), run_of(2, {0.5, 0.90}), run_of(3, {0.5, 0.91})}),
       entrant_of("poor",
                  {run_of(1, {0.7, 0.79}), run_of(2, {0.7, 0.80}), run_of(3, {0.7, 0.81})})},
      {1, 2, 3});
}

TEST(Figures, MeanAndSampleDeviation) {
  const std::vector<double> values = {2, 4, 9};  // mean 5, squares 9 + 1 + 16 over 2
  EXPECT_DOUBLE_EQ(mean_spread(values).mean, 5);
  EXPECT_DOUBLE_EQ(mean_spread(values).spread, std::sqrt(13.0));
  const std::vector<double> one = {3};
  EXPECT_DOUBLE_EQ(mean_spread(one).mean, 3);
  EXPECT_TRUE(std::isnan(mean_spread(one).spread));
  EXPECT_TRUE(std::isnan(mean_spread({}).mean));
}

TEST(Figures, AWinBeyondTheSpreadIsSaidWithItsMargin) {
  const Figures figures = figures_of(clear_win());
  EXPECT_TRUE(figures.rows[0].accuracy.best);
  EXPECT_FALSE(figures.rows[1].accuracy.best);
  EXPECT_TRUE(figures.rows[0].loss.best);
  // Both took the same time.
  EXPECT_FALSE(figures.rows[0].virtual_seconds.best || figures.rows[1].virtual_seconds.best);
  EXPECT_EQ(
      figures.verdict,
      "good has the best test accuracy: 90.0 ± 1.0 %, 10.00 points higher than poor, which is "
      "more than the spread of both over 3 seeds (1.41 points).");
}

TEST(Figures, AWinWithinTheSpreadIsNone) {
  // Means 0.90 and 0.89 with deviations of 0.01: 0.01 < 0.0141.
  Comparison close = clear_win();
  close.entrants[1] = entrant_of("near", {run_of(1, {0.88}), run_of(2, {0.89}), run_of(3, {0.90})});
  const std::string verdict = figures_of(close).verdict;
  EXPECT_THAT(verdict, HasSubstr("No contender is clearly best"));
  EXPECT_THAT(verdict, Not(HasSubstr("points")));
}

TEST(Figures, OneSeedNamesNoWinner) {
  const Figures figures = figures_of(comparison_of(
      {entrant_of("a", {run_of(1, {0.9})}), entrant_of("b", {run_of(1, {0.5})})}, {1}));
  EXPECT_THAT(figures.verdict, HasSubstr("--seeds 3"));
  EXPECT_TRUE(figures.rows[0].accuracy.best);
}

TEST(Figures, AContenderWithAFaultIsNeverBest) {
  Comparison comparison = clear_win();
  comparison.entrants[0].runs[1].fault = "no quorum";
  const Figures figures = figures_of(comparison);
  EXPECT_EQ(figures.rows[0].problem, "seed 2: no quorum");
  EXPECT_EQ(figures.rows[0].finished, 2U);
  EXPECT_DOUBLE_EQ(figures.rows[0].accuracy.value.mean, 0.90);
  EXPECT_FALSE(figures.rows[0].accuracy.best);
  EXPECT_EQ(figures.verdict, "There are not two complete contenders to compare.");
  comparison.entrants[0].runs.clear();
  comparison.entrants[0].refusal = "group.wait: expected all";
  EXPECT_EQ(figures_of(comparison).rows[0].problem, "group.wait: expected all");
}

TEST(Figures, TheTargetIsReachedAtTheFirstMeasurementWithItsQuality) {
  Comparison comparison = clear_win();
  comparison.target = 0.6;
  Figures figures = figures_of(comparison);
  EXPECT_DOUBLE_EQ(figures.rows[0].rounds_to_target.value.mean, 2);
  EXPECT_DOUBLE_EQ(figures.rows[1].rounds_to_target.value.mean, 1);
  EXPECT_DOUBLE_EQ(figures.rows[1].bytes_to_target.value.mean, 100);
  EXPECT_TRUE(figures.rows[1].seconds_to_target.best);
  comparison.target = 0.9;  // two of three seeds of the first
  figures = figures_of(comparison);
  EXPECT_EQ(figures.rows[0].reached, 2U);
  EXPECT_EQ(figures.rows[1].reached, 0U);
  EXPECT_FALSE(figures.rows[0].rounds_to_target.best);
  comparison.target.reset();
  EXPECT_DOUBLE_EQ(figures_of(comparison).target, 0.98 * 0.90);
}

TEST(Figures, WithoutAccuraciesTheLossIsCompared) {
  Comparison comparison = clear_win();
  for (Entrant& entrant : comparison.entrants) {
    for (ComparedRun& run : entrant.runs) {
      run.measured.back().accuracy = std::numeric_limits<double>::quiet_NaN();
    }
  }
  const Figures figures = figures_of(comparison);
  EXPECT_EQ(figures.quality, Quality::kLoss);
  EXPECT_THAT(figures.verdict, HasSubstr("good has the best test loss: 0.100 ± 0.010, 0.1 lower"));
}

TEST(Figures, CurvesAreMeansWithTheBandOfAllSeeds) {
  const Comparison comparison = clear_win();
  const auto curve = measured_curve(comparison.entrants[0], Effort::kBytes, Quality::kAccuracy);
  ASSERT_EQ(curve.size(), 2U);
  EXPECT_DOUBLE_EQ(curve[1].x, 200);
  EXPECT_DOUBLE_EQ(curve[1].y, 0.90);
  EXPECT_DOUBLE_EQ(curve[1].low, 0.89);
  EXPECT_DOUBLE_EQ(curve[1].high, 0.91);
  EXPECT_TRUE(measured_curve(Entrant(), Effort::kRounds, Quality::kLoss).empty());
  Entrant uneven = entrant_of("u", {run_of(1, {0.1, 0.2}), run_of(2, {0.3})});
  EXPECT_EQ(training_curve(uneven, Effort::kRounds).size(), 1U);
}

TEST(Figures, KeysThatDifferAreListed) {
  Comparison comparison = clear_win();
  comparison.entrants[0].recipe = {{"group.wire", "f32"}, {"run.steps", "5"}};
  comparison.entrants[1].recipe = {{"group.wire", "bf16"}, {"run.steps", "5"}};
  const std::vector<DifferingKey> keys = differing_keys(comparison);
  ASSERT_EQ(keys.size(), 1U);
  EXPECT_EQ(keys[0].name, "group.wire");
  EXPECT_THAT(keys[0].values, testing::ElementsAre("f32", "bf16"));
}

TEST(Figures, KeysOfAProgramStandBesideThoseOfRecipes) {
  Comparison comparison = clear_win();
  comparison.entrants.push_back(entrant_of("other", {}));
  comparison.entrants[0].recipe = {{"group.wire", "f32"}, {"run.steps", "5"}};
  comparison.entrants[1].recipe = {{"program.options.rate", "1"}};
  comparison.entrants[2].recipe = {{"group.wire", "bf16"}, {"run.steps", "5"}};
  const std::vector<DifferingKey> keys = differing_keys(comparison);
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].name, "group.wire");
  EXPECT_THAT(keys[0].values, testing::ElementsAre("f32", "", "bf16"));
  EXPECT_EQ(keys[1].name, "program.options.rate");
  EXPECT_THAT(keys[1].values, testing::ElementsAre("", "1", ""));
}

}  // namespace
}  // namespace weft::figures_test
