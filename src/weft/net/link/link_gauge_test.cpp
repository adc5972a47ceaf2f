#include "weft/net/link/link_gauge.h"

#include <gtest/gtest.h>

#include "weft/wire/link_message.h"

namespace weft::link_gauge_test {
namespace {

// A lane that always has something to send over a link of its own making.
struct Lane {
  double rtt_seconds = 0.1;
  double link_bytes_per_second = 1e9;
  // What one connection's window lets through in a second.
  double window_bytes_per_second = 30e6;
  // The part of the time in which the lane sends.
  double busy = 1;
  std::size_t connections = 1;

  // After `seconds` of that, as many connections as the gauge wants.
  std::size_t run(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      const double windows = window_bytes_per_second * static_cast<double>(connections);
      const bool limited = windows < link_bytes_per_second;
      sample.now += LinkGauge::kInterval;
      sample.connections = connections;
      sample.rtt_seconds = rtt_seconds;
      sample.busy_seconds += busy * static_cast<double>(connections);
      if (limited) sample.window_limited_seconds += 0.9 * busy * static_cast<double>(connections);
      sample.bytes_acknowledged +=
          static_cast<std::uint64_t>(busy * (limited ? windows : link_bytes_per_second));
      connections = gauge.wanted(sample, kBulkConnectionsMax);
    }
    return connections;
  }

  LinkGauge gauge;
  LinkSample sample;
};

TEST(LinkGauge, ALongFatLineGetsMoreConnectionsUntilItIsFull) {
  Lane lane;
  lane.link_bytes_per_second = 100e6;
  EXPECT_EQ(lane.run(2), 1U);
  EXPECT_EQ(lane.run(2), 2U);
  EXPECT_EQ(lane.run(60), 4U);
}

TEST(LinkGauge, NeverMoreThanTheGreatestNumber) {
  Lane lane;
  EXPECT_EQ(lane.run(100), kBulkConnectionsMax);
}

TEST(LinkGauge, AShortLineNeedsNone) {
  Lane lane;
  lane.rtt_seconds = 0.005;
  EXPECT_EQ(lane.run(60), 1U);
}

TEST(LinkGauge, ALineThatIsLimitedByItsRateNeedsNone) {
  Lane lane;
  lane.link_bytes_per_second = 10e6;
  EXPECT_EQ(lane.run(60), 1U);
}

TEST(LinkGauge, ALaneWithLittleToSendNeedsNone) {
  Lane lane;
  lane.busy = 0.1;
  EXPECT_EQ(lane.run(60), 1U);
}

TEST(LinkGauge, ItStopsWhereMoreConnectionsBringNothing) {
  // A reader that is slow: the windows close, however many there are.
  Lane lane;
  for (int i = 0; i < 60; ++i) {
    lane.window_bytes_per_second = 30e6 / static_cast<double>(lane.connections);
    lane.run(1);
  }
  EXPECT_EQ(lane.connections, 2U);
}

}  // namespace
}  // namespace weft::link_gauge_test
