#include "weft/collective/link/send_meter.h"

#include <gtest/gtest.h>

namespace weft::send_meter_test {
namespace {

using std::chrono::milliseconds;

TEST(SendMeter, MeasuresTheTimeInWhichDataIsQueued) {
  SendMeter meter;
  TimePoint now = TimePoint() + milliseconds(5);
  meter.on_send(0, now);
  meter.on_queued(100'000);
  // 60,000 bytes leave in 30 ms: 2 MB/s.
  now += milliseconds(30);
  meter.on_send(40'000, now);
  meter.on_queued(60'000);
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(), 2e6);
  // It has run empty at some time: nothing is known about the pause.
  now += milliseconds(500);
  meter.on_send(0, now);
  meter.on_queued(50'000);
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(), 2e6);
  // 20,000 more in 50 ms.
  now += milliseconds(50);
  meter.on_send(30'000, now);
  meter.on_queued(30'000);
  EXPECT_DOUBLE_EQ(meter.bytes_per_s(), 1e6);
}

TEST(SendMeter, ALinkThatKeepsUpHasNoRate) {
  SendMeter meter;
  TimePoint now = TimePoint() + milliseconds(5);
  for (int i = 0; i < 100; ++i) {
    meter.on_send(0, now);
    meter.on_queued(1000);
    now += milliseconds(10);
  }
  EXPECT_EQ(meter.bytes_per_s(), 0);
}

TEST(SendMeter, FollowsALinkThatBecomesSlow) {
  SendMeter meter;
  TimePoint now = TimePoint() + milliseconds(5);
  const auto send = [&](std::size_t bytes_each_10_ms, int times) {
    for (int i = 0; i < times; ++i) {
      meter.on_send(100'000 - bytes_each_10_ms, now);
      meter.on_queued(100'000);
      now += milliseconds(10);
    }
  };
  send(10'000, 1000);
  EXPECT_NEAR(meter.bytes_per_s(), 1e6, 1e4);
  send(1000, 1000);
  EXPECT_NEAR(meter.bytes_per_s(), 1e5, 2e4);
}

}  // namespace
}  // namespace weft::send_meter_test
