#include "weft/sim/machine/machine_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim::machine_trace_test {
namespace {

using testing::HasSubstr;

template <class T>
std::string refusal(const Result<T>& result) {
  return result.ok() ? "" : result.status().message();
}

TEST(MachineTrace, RatesAreReadAndRefusedByName) {
  const Result<Churn> churn = parse_churn("leave=0.01,join=0.5");
  ASSERT_TRUE(churn.ok());
  EXPECT_EQ(churn->leave, 0.01);
  EXPECT_EQ(churn->join, 0.5);
  EXPECT_EQ(parse_churn("join=2")->leave, 0);
  for (const char* const text : {"", "leave", "leave=", "leave=-1", "leave=nan", "leave=1,leave=2",
                                 "stay=1", "leave=1,", "leave=1e9"}) {
    EXPECT_THAT(refusal(parse_churn(text)), HasSubstr("--churn: expected")) << text;
  }
}

TEST(MachineTrace, FailuresAreSortedByTime) {
  const auto events =
      parse_failures("peer,time,event\n2,5,leave\n\n# later\n0,1.5,leave\r\n2,9,join", "trace", 3);
  ASSERT_TRUE(events.ok()) << events.status().message();
  ASSERT_EQ(events->size(), 3U);
  EXPECT_EQ((*events)[0].peer, 0U);
  EXPECT_EQ((*events)[0].seconds, 1.5);
  EXPECT_FALSE((*events)[1].comes);
  EXPECT_TRUE((*events)[2].comes);
}

TEST(MachineTrace, BadFailuresAreRefusedByLine) {
  const auto fault = [](const char* text) { return refusal(parse_failures(text, "f.csv", 3)); };
  EXPECT_EQ(fault("0,1,leave\n3,2,leave"), "f.csv, line 2: expected a peer from 0 to 2, got '3'");
  EXPECT_THAT(fault("0,1"), HasSubstr("line 1: expected PEER,SECONDS,leave or join, got '0,1'"));
  EXPECT_THAT(fault("0,-1,leave"), HasSubstr("line 1: expected seconds"));
  EXPECT_THAT(fault("0,1,dies"), HasSubstr("line 1: expected leave or join, got 'dies'"));
  EXPECT_THAT(fault("0,1,join"), HasSubstr("line 1: expected leave of a peer that is there"));
  EXPECT_THAT(fault("0,1,leave\n0,2,leave"), HasSubstr("line 2: expected join of one that left"));
  EXPECT_THAT(fault("0,4,leave\n0,4.5,join"), HasSubstr("line 2: expected at least 5 seconds"));
  EXPECT_THAT(fault("0.5,1,leave"), HasSubstr("expected a peer"));
  EXPECT_THAT(fault("names\nnames"), HasSubstr("line 2"));
}

TEST(MachineTrace, SpeedsAreOncePerPeer) {
  const auto speeds = parse_speeds("peer,samples_per_second\n1,250.5\n0,10\n", "s.csv", 2);
  ASSERT_TRUE(speeds.ok());
  EXPECT_EQ((*speeds)[0].peer, 1U);
  EXPECT_EQ((*speeds)[0].samples_per_second, 250.5);
  const auto fault = [](const char* text) { return refusal(parse_speeds(text, "s.csv", 2)); };
  EXPECT_THAT(fault("0,0"), HasSubstr("s.csv, line 1: expected samples a second above 0, got '0'"));
  EXPECT_THAT(fault("0,1\n0,2"), HasSubstr("line 2: expected each peer once"));
  EXPECT_THAT(fault("0,1,2"), HasSubstr("line 1: expected PEER,SAMPLES_PER_SECOND"));
}

TEST(MachineTrace, WaitsHaveTheMeanOfTheirRate) {
  Rng draws(3, 4);
  double there = 0;
  double gone = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    there += *drawn_wait({0.1, 0.5}, true, draws);
    gone += *drawn_wait({0.1, 0.5}, false, draws);
  }
  // Five deviations of the means of exponential draws.
  EXPECT_NEAR(there / kDraws, 10, 5 * 10 / 141.4);
  EXPECT_NEAR(gone / kDraws, 1 + 2, 5 * 2 / 141.4);
  EXPECT_FALSE(drawn_wait({0, 1}, true, draws).has_value());
}

}  // namespace
}  // namespace weft::sim::machine_trace_test
