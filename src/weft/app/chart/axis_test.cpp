#include "weft/app/chart/axis.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::axis_test {
namespace {

using testing::ElementsAre;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> out;
  for (const AxisTick& tick : axis.ticks()) out.push_back(tick.label);
  return out;
}

TEST(Axis, TicksAreRoundNumbersAroundTheRange) {
  const Axis axis({0.03, 0.97}, Quantity::kNumber, 6);
  EXPECT_THAT(labels(axis), ElementsAre("0", "0.2", "0.4", "0.6", "0.8", "1"));
  EXPECT_DOUBLE_EQ(axis.low(), 0);
  EXPECT_DOUBLE_EQ(axis.place(0.25), 0.25);
}

TEST(Axis, EachQuantityHasItsUnit) {
  EXPECT_THAT(labels(Axis({0.61, 0.88}, Quantity::kShare, 4)),
              ElementsAre("60 %", "70 %", "80 %", "90 %"));
  EXPECT_THAT(labels(Axis({0, 390}, Quantity::kSeconds, 5)),
              ElementsAre("0 min", "2 min", "4 min", "6 min", "8 min"));
  EXPECT_THAT(labels(Axis({0, 2.1e6}, Quantity::kBytes, 4)),
              ElementsAre("0 MB", "1 MB", "2 MB", "3 MB"));
  // There is no half round.
  EXPECT_THAT(labels(Axis({0, 2}, Quantity::kCount, 6)), ElementsAre("0", "1", "2"));
}

TEST(Axis, ALogarithmicAxisHasPowersOfTen) {
  const Axis axis({3000, 4e8, true}, Quantity::kBytes, 6);
  EXPECT_THAT(labels(axis),
              ElementsAre("1 kB", "10 kB", "100 kB", "1 MB", "10 MB", "100 MB", "1 GB"));
  EXPECT_NEAR(axis.place(1e6), 0.5, 1e-12);
  EXPECT_THAT(labels(Axis({12, 140, true}, Quantity::kSeconds, 7)),
              ElementsAre("0.2 min", "0.5 min", "1 min", "2 min", "5 min"));
}

TEST(Axis, AShortLogarithmicAxisDoesNotReachToTheNextPower) {
  const Axis axis({6e6, 1.29e8, true}, Quantity::kBytes, 7);
  EXPECT_THAT(labels(axis), ElementsAre("5 MB", "10 MB", "20 MB", "50 MB", "100 MB", "200 MB"));
}

TEST(Axis, WhatIsNoRangeIsDrawnAnyway) {
  for (const AxisRange range : {AxisRange{kNan, 1}, AxisRange{5, -5},
                                AxisRange{0, std::numeric_limits<double>::infinity()}}) {
    const Axis axis(range, Quantity::kNumber, 5);
    EXPECT_EQ(axis.low(), 0);
    EXPECT_EQ(axis.high(), 1);
  }
  const Axis one({7, 7}, Quantity::kNumber, 5);
  EXPECT_GT(one.place(7), 0.2);
  EXPECT_LT(one.place(7), 0.8);
  EXPECT_FALSE(Axis({-1, 1, true}, Quantity::kNumber, 5).logarithmic());
}

TEST(QuantityText, HasThreeDigitsAndAUnit) {
  EXPECT_EQ(quantity_text(1'254'000, Quantity::kBytes), "1.25 MB");
  EXPECT_EQ(quantity_text(999, Quantity::kBytes), "999 B");
  EXPECT_EQ(quantity_text(210, Quantity::kSeconds), "3.5 min");
  EXPECT_EQ(quantity_text(119, Quantity::kSeconds), "119 s");
  EXPECT_EQ(quantity_text(0.8734, Quantity::kShare), "87.3 %");
  EXPECT_EQ(quantity_text(25600, Quantity::kCount), "25.6 k");
  EXPECT_EQ(quantity_text(0.31415, Quantity::kNumber), "0.314");
  EXPECT_EQ(quantity_text(0, Quantity::kBytes), "0 B");
  EXPECT_EQ(quantity_text(kNan, Quantity::kShare), "–");
}

TEST(SpreadText, HasAsManyDecimalsAsTheSpreadNeeds) {
  EXPECT_EQ(spread_text(0.87312, 0.0024, Quantity::kShare), "87.31 ± 0.24 %");
  EXPECT_EQ(spread_text(1.5e6, 30e3, Quantity::kBytes), "1.500 ± 0.030 MB");
  EXPECT_EQ(spread_text(13.91854, 0.0032, Quantity::kSeconds), "13.92 ± 0.00 s");
  EXPECT_EQ(spread_text(2.24e-6, 6.1e-7, Quantity::kNumber), "2.2e-06 ± 6e-07");
  EXPECT_EQ(spread_text(2e6, 0, Quantity::kBytes), "2 ± 0 MB");
  EXPECT_EQ(spread_text(0.5, kNan, Quantity::kShare), "50 %");
  EXPECT_EQ(spread_text(kNan, kNan, Quantity::kShare), "–");
}

}  // namespace
}  // namespace weft::axis_test
