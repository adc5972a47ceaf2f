#include "weft/sim/machine/spread.h"

#include <gtest/gtest.h>

namespace weft::sim::spread_test {

TEST(Spread, OneNumberIsEverybodys) {
  const Result<Spread> spread = parse_spread("--ms", "12.5", {0, 100});
  ASSERT_TRUE(spread.ok());
  EXPECT_EQ(spread->at(0, 1, 1), 12.5);
  EXPECT_EQ(spread->at(77, 9, 2), 12.5);
}

TEST(Spread, AListIsTakenInTurn) {
  const Result<Spread> spread = parse_spread("--mbit", "100,20,5", {0, 1000});
  ASSERT_TRUE(spread.ok());
  EXPECT_EQ(spread->at(1, 1, 1), 20);
  EXPECT_EQ(spread->at(3, 1, 1), 100);
  EXPECT_EQ(spread->at(5, 1, 1), 5);
}

TEST(Spread, ARangeIsDrawnFromTheSeed) {
  const Result<Spread> spread = parse_spread("--speed", "50..200", {0, 1000});
  ASSERT_TRUE(spread.ok());
  double least = 200;
  double most = 50;
  double sum = 0;
  constexpr int kPeers = 4000;
  for (std::size_t peer = 0; peer < kPeers; ++peer) {
    const double value = spread->at(peer, 7, 1);
    EXPECT_EQ(value, spread->at(peer, 7, 1));
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  EXPECT_GE(least, 50);
  EXPECT_LE(most, 200);
  // The mean of so many even draws is within five of its deviations, 0.7 each.
  EXPECT_NEAR(sum / kPeers, 125, 3.5);
  EXPECT_NE(spread->at(0, 7, 1), spread->at(0, 8, 1));
  EXPECT_NE(spread->at(0, 7, 1), spread->at(0, 7, 2));
  EXPECT_NE(spread->at(0, 7, 1), spread->at(1, 7, 1));
}

TEST(Spread, WhatIsNoneIsRefusedWithItsFlag) {
  for (const char* text : {"", "x", "1,", ",1", "1..", "..2", "3..2", "-1", "101", "1..101", "nan",
                           "inf", "1 2", "1e", "0x10"}) {
    const Result<Spread> spread = parse_spread("--ms", text, {0, 100});
    ASSERT_FALSE(spread.ok()) << text;
    EXPECT_EQ(spread.status().code(), Code::kInvalidArgument) << text;
    EXPECT_TRUE(spread.status().message().starts_with("--ms: expected")) << text;
  }
}

}  // namespace weft::sim::spread_test
