#include "weft/collective/link/state_throttle.h"

#include <gtest/gtest.h>

namespace weft::state_throttle_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBlock = std::size_t{64} << 10;
// The rate of the network: a block takes 5 ms.
constexpr double kRate = kBlock / 0.005;

class StateThrottleTest : public ::testing::Test {
 protected:
  // A round whose data moves for `moves` over the link, after `gap` without.
  void round(Duration gap, Duration moves) {
    now += gap;
    const TimePoint end = now + moves;
    const Duration step = milliseconds(1);
    while (now < end) {
      throttle.on_round_received(static_cast<std::size_t>(kRate * to_seconds(step)), now);
      now += step;
    }
    throttle.on_round_sent(0, now);
    throttle.on_round_over(now);
  }
  // As long as may be sent until `end`, on a link without delay; how many blocks.
  int fill(TimePoint end, StateKind kind = StateKind::kBlock) {
    int sent = 0;
    while (now < end) {
      if (throttle.may_send(kind, kBlock, now)) {
        throttle.on_state_sent(kind, kBlock, now);
        now += milliseconds(5);
        throttle.on_state_gone(kBlock);
        ++sent;
      } else {
        now = std::min(end, throttle.next_change(kind, kBlock, now));
      }
    }
    return sent;
  }
  void use_up_savings() {
    for (int i = 0; i < 100; ++i) throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    throttle.on_round_sent(0, now);
    throttle.on_round_over(now);
    throttle.on_state_gone(100 * kBlock);
  }

  StateThrottle throttle;
  TimePoint now{seconds(100)};
};

TEST_F(StateThrottleTest, WithoutRoundsTheLineIsFree) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  }
  EXPECT_EQ(throttle.next_change(StateKind::kBlock, kBlock, now), TimePoint::max());
}

TEST_F(StateThrottleTest, AGapIsUsedFromItsBeginningToItsEnd) {
  for (int i = 0; i < 5; ++i) round(milliseconds(500), milliseconds(500));
  EXPECT_EQ(fill(now + milliseconds(500)), 100);
}

TEST_F(StateThrottleTest, APauseWithinARoundIsUsedToo) {
  for (int i = 0; i < 5; ++i) round(milliseconds(500), milliseconds(500));
  for (int i = 0; i < 20; ++i) throttle.on_round_received(kBlock / 5, now += milliseconds(1));
  ASSERT_TRUE(throttle.exchanging());
  EXPECT_GE(fill(now + milliseconds(200)), 38);
}

TEST_F(StateThrottleTest, WhereARoundsDataWaitsTheLineIsNotFree) {
  for (int i = 0; i < 5; ++i) round(milliseconds(500), milliseconds(500));
  use_up_savings();
  throttle.on_round_sent(kBlock, now);
  throttle.set_waiting(true);
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now + milliseconds(200)));
  throttle.set_waiting(false);
  EXPECT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now + milliseconds(200)));
}

TEST_F(StateThrottleTest, ARoundThatMovesLosesItsShareOfTime) {
  for (int i = 0; i < 5; ++i) round(milliseconds(500), milliseconds(500));
  int sent = 0;
  const TimePoint begun = now;
  for (int i = 0; i < 20'000; ++i) {
    throttle.on_round_received(kBlock / 5, now += milliseconds(1));
    if (!throttle.may_send(StateKind::kBlock, kBlock, now)) continue;
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    throttle.on_state_gone(kBlock);
    ++sent;
  }
  const double part = sent * 0.005 / to_seconds(now - begun);
  EXPECT_LE(part, 0.065);
  EXPECT_GE(part, 0.045);
}

// What is under way at a gap's end holds the round up, and that is counted.
TEST_F(StateThrottleTest, GapsThatAreTooShortCostRoundsTheirShareAndNoMore) {
  for (int i = 0; i < 50; ++i) round(milliseconds(2), milliseconds(8));
  int sent = 0;
  const int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    const bool goes = throttle.may_send(StateKind::kBlock, kBlock, now);
    if (goes) throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    round(milliseconds(2), milliseconds(8));
    if (goes) throttle.on_state_gone(kBlock);
    sent += goes ? 1 : 0;
  }
  const double part = sent * 0.005 / (rounds * 0.010);
  EXPECT_LE(part, 0.09);
  EXPECT_GE(part, 0.03);
}

TEST_F(StateThrottleTest, WithoutSavingsAGapIsUsedAsFarAsItIsForeseen) {
  for (int i = 0; i < 5; ++i) round(seconds(1), seconds(1));
  round(milliseconds(100), milliseconds(200));
  round(seconds(1), seconds(1));
  use_up_savings();
  round(seconds(1), milliseconds(300));
  round(milliseconds(100), milliseconds(300));
  use_up_savings();
  const int sent = fill(now + milliseconds(100));
  EXPECT_GE(sent, 0);
  EXPECT_LE(sent, 18) << "the shorter of the last two is foreseen, and a tenth of it left";
}

TEST_F(StateThrottleTest, AGapThatIsMuchLongerThanForeseenIsUsed) {
  for (int i = 0; i < 3; ++i) round(milliseconds(20), seconds(1));
  use_up_savings();
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now));
  now = throttle.next_change(StateKind::kBlock, kBlock, now);
  EXPECT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
  EXPECT_GE(fill(now + seconds(1)), 199);
}

TEST_F(StateThrottleTest, ARateThatWasMeasuredFalselyKeepsNobodyOutForLong) {
  throttle.on_round_received(kBlock, now);
  for (int i = 0; i < 20'000; ++i) throttle.on_round_received(1, now += milliseconds(39));
  throttle.on_round_over(now);
  int sent = 0;
  for (int i = 0; i < 600; ++i) {
    const TimePoint end = now + milliseconds(50);
    sent += fill(end);
    now = end;
    round(Duration(), milliseconds(50));
  }
  EXPECT_GE(sent, 600 * 5);
}

TEST_F(StateThrottleTest, OverdueSumsFollowRoundsThatFillTheLine) {
  constexpr std::size_t kVector = 64 * kBlock;
  for (const int members : {2, 3, 4, 8}) {
    for (const int newcomers : {1, 2}) {
      StateThrottle one;
      one.set_group(members, newcomers);
      std::size_t sums = 0;
      const std::size_t sends =
          2 * kVector * static_cast<std::size_t>(members - 1) / static_cast<std::size_t>(members);
      for (int round = 0; round < 20; ++round) {
        for (int part = 0; part < 64; ++part) {
          one.on_round_sent(sends / 64, now += milliseconds(1));
          while (one.may_send(StateKind::kOverdueResult, kBlock, now)) {
            one.on_state_sent(StateKind::kOverdueResult, kBlock, now);
            one.on_state_gone(kBlock);
            sums += kBlock;
          }
        }
      }
      const std::size_t of_all = sums * static_cast<std::size_t>(members);
      EXPECT_GE(of_all, 20 * kVector * static_cast<std::size_t>(std::min(newcomers, members)))
          << members;
    }
  }
}

TEST_F(StateThrottleTest, WhatIsSavedUpIsBounded) {
  round(milliseconds(100), milliseconds(500));
  now += seconds(3600);
  throttle.on_round_sent(0, now);
  int blocks = 0;
  while (throttle.may_send(StateKind::kBlock, kBlock, now)) {
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    throttle.on_state_gone(kBlock);
    ++blocks;
  }
  EXPECT_LE(blocks, 60);
}

}  // namespace
}  // namespace weft::state_throttle_test
