#include "weft/collective/state_throttle.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBlock = std::size_t{1} << 20;

class StateThrottleTest : public ::testing::Test {
 protected:
  // A round of `moves` exchange after `gap` without.
  void round(Duration gap, Duration moves) {
    now += gap;
    throttle.on_round_sent(0, now);
    now += moves;
    throttle.on_round_over(now);
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

TEST_F(StateThrottleTest, ARoundThatMovesLeavesItsShare) {
  std::size_t sent = 0;
  std::size_t state = 0;
  for (int i = 0; i < 4000; ++i) {
    now += milliseconds(10);
    throttle.on_round_sent(kBlock / 4, now);
    sent += kBlock / 4;
    while (throttle.may_send(StateKind::kBlock, kBlock, now)) {
      throttle.on_state_sent(StateKind::kBlock, kBlock, now);
      state += kBlock;
    }
  }
  EXPECT_LE(state * 16, sent);
  EXPECT_GE(state * 16 + 16 * kBlock, sent);
}

TEST_F(StateThrottleTest, AGapIsFilledAndNoMore) {
  for (int i = 0; i < 200; ++i) {  // ten blocks a second
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    now += milliseconds(100);
    throttle.on_state_delivered(kBlock, now - milliseconds(100), now);
  }
  for (int i = 0; i < 3; ++i) round(seconds(2), seconds(1));
  int sent = 0;
  for (; throttle.may_send(StateKind::kBlock, kBlock, now) && sent < 100; ++sent) {
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  }
  EXPECT_GE(sent, 17);
  EXPECT_LE(sent, 18);
}

TEST_F(StateThrottleTest, AGapTooShortForABlockIsLeftAlone) {
  for (int i = 0; i < 10; ++i) {
    round(milliseconds(5), milliseconds(500));
    EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now)) << i;
    EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now + milliseconds(4)));
  }
}

// Otherwise a newcomer would never come in where a block takes longer than members compute.
TEST_F(StateThrottleTest, ABlockThatNoGapHasRoomForGoesNowAndThen) {
  int sent = 0;
  for (int i = 0; i < 2000; ++i) {  // of 0.5 s; the block takes about one second
    round(milliseconds(100), milliseconds(400));
    if (!throttle.may_send(StateKind::kBlock, kBlock, now)) continue;
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    ++sent;
  }
  EXPECT_GE(sent, 90);
  EXPECT_LE(sent, 110);
}

TEST_F(StateThrottleTest, ARateThatWasMeasuredFalselyComesBack) {
  for (int i = 0; i < 3; ++i) round(milliseconds(300), milliseconds(200));
  throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  throttle.on_state_delivered(kBlock, now, now + seconds(1000));
  now += seconds(1000);
  int sent = 0;
  for (int i = 0; i < 240; ++i) {
    round(milliseconds(300), milliseconds(200));
    if (!throttle.may_send(StateKind::kBlock, kBlock, now)) continue;
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    throttle.on_state_delivered(kBlock, now, now + milliseconds(100));
    ++sent;
  }
  EXPECT_GE(sent, 200);
}

TEST_F(StateThrottleTest, TheShorterOfTheLastTwoGapsIsForeseen) {
  for (int i = 0; i < 4; ++i) round(seconds(2), seconds(1));
  round(milliseconds(100), seconds(1));
  round(seconds(2), seconds(1));
  EXPECT_EQ(throttle.next_change(StateKind::kBlock, kBlock * 100, now), now + milliseconds(230));
}

TEST_F(StateThrottleTest, ALongerGapIsUsedPieceByPieceAndThenWhole) {
  for (int i = 0; i < 3; ++i) round(milliseconds(100), seconds(1));
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now));
  now = throttle.next_change(StateKind::kBlock, kBlock, now);
  ASSERT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
  throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now));
  now = throttle.next_change(StateKind::kBlock, kBlock, now);
  ASSERT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
  now += seconds(2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  }
}

TEST_F(StateThrottleTest, ARoundThatStandsStillGivesTheLineAway) {
  throttle.on_round_received(now);
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now));
  EXPECT_EQ(throttle.next_change(StateKind::kBlock, kBlock, now), now + milliseconds(250));
  now += milliseconds(250);
  ASSERT_TRUE(throttle.may_send(StateKind::kBlock, kBlock, now));
  throttle.on_state_sent(StateKind::kBlock, kBlock, now);
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now)) << "a piece at a time";
  throttle.on_round_received(now);
  EXPECT_FALSE(throttle.may_send(StateKind::kBlock, kBlock, now));
}

TEST_F(StateThrottleTest, NewcomersCanFollowRoundsThatFillTheLine) {
  constexpr std::size_t kVector = 4 * kBlock;
  for (const int members : {2, 3, 4, 8}) {
    for (const int newcomers : {1, 2}) {
      StateThrottle one;
      one.set_group(members, newcomers);
      std::size_t sums = 0;
      const std::size_t sends =
          2 * kVector * static_cast<std::size_t>(members - 1) / static_cast<std::size_t>(members);
      for (int round = 0; round < 20; ++round) {
        for (int part = 0; part < 64; ++part) {
          one.on_round_sent(sends / 64, now);
          while (one.may_send(StateKind::kResult, kBlock, now)) {
            one.on_state_sent(StateKind::kResult, kBlock, now);
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

TEST_F(StateThrottleTest, CreditIsBounded) {
  throttle.on_round_sent(std::size_t{1} << 40U, now);
  int blocks = 0;
  while (throttle.may_send(StateKind::kBlock, kBlock, now)) {
    throttle.on_state_sent(StateKind::kBlock, kBlock, now);
    ++blocks;
  }
  EXPECT_EQ(blocks, 4);
}

}  // namespace
}  // namespace weft
