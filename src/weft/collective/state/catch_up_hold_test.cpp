// The decision to hold a round back, with the time as a number.
#include "weft/collective/state/catch_up_hold.h"

#include <chrono>

#include <gtest/gtest.h>

namespace weft::catch_up_hold_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class CatchUpHoldTest : public ::testing::Test {
 protected:
  static PeerId peer(std::uint8_t number) {
    PeerId id;
    id.bytes[0] = number;
    return id;
  }
  void settle() { hold.settle({Round(committed), between, limit, now}); }
  void ask(std::uint64_t round) {
    hold.on_result_request(peer(1), Round(round), Round(committed), now);
  }
  // Rounds of 10 ms unless they are held back, and a newcomer that asks for one result after
  // `takes`; for so long.
  void run(Duration time, Duration takes) {
    const TimePoint end = now + time;
    TimePoint asks = now;
    while (now < end) {
      for (; now >= asks; asks += takes) ask(asked++);
      now += milliseconds(10);
      if (!hold.holds()) ++committed;
      settle();
      held += hold.holds() ? milliseconds(10) : milliseconds(0);
    }
  }

  CatchUpHold hold;
  TimePoint now{minutes(1)};
  std::uint64_t committed = 1000;
  std::uint64_t asked = 901;
  bool between = true;
  Duration limit = minutes(1);
  Duration held{};
};

TEST_F(CatchUpHoldTest, ANewcomerWhoseLagGrowsIsWaitedForUntilItIsIn) {
  run(milliseconds(900), milliseconds(30));
  EXPECT_FALSE(hold.holds()) << "nothing is known of it before it was observed for a second";
  run(seconds(2), milliseconds(30));
  EXPECT_TRUE(hold.holds());
  EXPECT_EQ(hold.waited_for(), std::vector{peer(1)});
  const std::uint64_t there = committed;
  run(seconds(10), milliseconds(30));
  EXPECT_EQ(committed, there);
  hold.forget(peer(1));
  settle();
  EXPECT_FALSE(hold.holds());
  EXPECT_EQ(hold.deadline(), TimePoint::max());
}

TEST_F(CatchUpHoldTest, OneWhoseLagShrinksIsNot) {
  run(seconds(3), milliseconds(4));
  EXPECT_EQ(held, Duration());
}

TEST_F(CatchUpHoldTest, OneThatStaysTwoRoundsBehindIsWaitedForOnceInAWhile) {
  asked = committed + 2;
  run(milliseconds(2900), milliseconds(10));
  EXPECT_EQ(held, Duration());
  run(milliseconds(300), milliseconds(10));
  ASSERT_TRUE(hold.holds());
  // It has caught up and is not admitted, since it cannot reach another member, say.
  now += seconds(3);
  settle();
  EXPECT_FALSE(hold.holds());
  asked = committed + 2;
  held = Duration();
  run(milliseconds(1900), milliseconds(10));
  EXPECT_EQ(held, Duration());
}

TEST_F(CatchUpHoldTest, OneThatAsksForNothingNewIsWaitedForForThreeSeconds) {
  run(seconds(4), milliseconds(30));
  ASSERT_TRUE(hold.holds());
  ask(asked - 1);
  EXPECT_LE(hold.deadline(), now + seconds(3));
  now += milliseconds(3001);
  settle();
  EXPECT_FALSE(hold.holds());
  EXPECT_TRUE(hold.waited_for().empty());
}

TEST_F(CatchUpHoldTest, OneForWhichTheBudgetIsNotEnoughIsNotWaitedFor) {
  asked = 1;
  run(seconds(10), milliseconds(200));
  EXPECT_EQ(held, Duration()) << "it needs 200 s and more";
}

TEST_F(CatchUpHoldTest, APauseTakesHalfOfTheLimitAndThenARoundPasses) {
  limit = seconds(8);
  run(seconds(3), milliseconds(30));
  ASSERT_TRUE(hold.holds());
  const std::uint64_t first = committed;
  run(seconds(13), milliseconds(30));
  EXPECT_GE(committed, first + 2);
  EXPECT_LE(committed, first + 4);
}

TEST_F(CatchUpHoldTest, TheBudgetIsAMinuteAndATenthOfTheTime) {
  run(seconds(3), milliseconds(30));
  ASSERT_TRUE(hold.holds());
  // It asks again and again, and never comes in.
  run(minutes(3), milliseconds(900));
  EXPECT_GT(held, seconds(58));
  EXPECT_LT(held, seconds(60 + 18));
  EXPECT_LT(hold.budget(), seconds(20));
  hold.forget(peer(1));
  now += minutes(10);
  settle();
  EXPECT_EQ(hold.budget(), minutes(1));
}

TEST_F(CatchUpHoldTest, OneThatTakesTheStateASecondTimeIsWaitedForMeanwhile) {
  hold.on_query(peer(1), now);
  hold.on_block_request(peer(1), now);
  settle();
  EXPECT_FALSE(hold.holds()) << "the first time";
  ask(asked);
  hold.on_query(peer(1), now);
  settle();
  EXPECT_TRUE(hold.holds());
  between = false;
  settle();
  EXPECT_FALSE(hold.holds()) << "a round is open";
  between = true;
  now += seconds(2);
  hold.on_block_request(peer(1), now);
  now += seconds(2);
  settle();
  EXPECT_TRUE(hold.holds());
  now += seconds(2);
  settle();
  EXPECT_FALSE(hold.holds());
}

TEST_F(CatchUpHoldTest, RequestsForRoundsThatAreFarAwayCountNothing) {
  run(seconds(3), milliseconds(30));
  ASSERT_TRUE(hold.holds());
  now += milliseconds(2900);
  ask(~std::uint64_t{0});
  ask(committed + 1000);
  now += milliseconds(200);
  settle();
  EXPECT_FALSE(hold.holds());
}

}  // namespace
}  // namespace weft::catch_up_hold_test
