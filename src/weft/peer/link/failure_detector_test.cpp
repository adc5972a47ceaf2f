#include "weft/peer/failure_detector.h"

#include <gtest/gtest.h>

#include "weft/base/rng.h"

namespace weft::failure_detector_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kInterval = milliseconds(250);
constexpr Duration kCap = seconds(2);

TEST(FailureDetector, RegularHeartbeatsGiveTheFloor) {
  TimePoint now{};
  FailureDetector detector(kInterval, kCap, now);
  for (int i = 0; i < 100; ++i) detector.on_heartbeat(now += kInterval);
  EXPECT_EQ(detector.timeout(), 4 * kInterval);
  EXPECT_FALSE(detector.silent(now + 4 * kInterval));
  EXPECT_TRUE(detector.silent(now + 4 * kInterval + milliseconds(1)));
}

TEST(FailureDetector, JitterGivesMoreTimeUpToTheCap) {
  TimePoint now{};
  FailureDetector detector(kInterval, kCap, now);
  Rng rng(1);
  for (int i = 0; i < 200; ++i) {
    detector.on_heartbeat(now += kInterval + from_seconds(0.6 * rng.uniform()));
  }
  EXPECT_GT(detector.timeout(), 4 * kInterval);
  for (int i = 0; i < 50; ++i) detector.on_heartbeat(now += seconds(i % 2 == 0 ? 9 : 1));
  EXPECT_EQ(detector.timeout(), kCap);
}

TEST(FailureDetector, AnyFrameShowsLifeButDoesNotShapeTheTimeout) {
  TimePoint now{};
  FailureDetector detector(kInterval, kCap, now);
  const Duration before = detector.timeout();
  for (int i = 0; i < 1000; ++i) detector.on_sign_of_life(now += milliseconds(1));
  EXPECT_EQ(detector.timeout(), before);
  EXPECT_EQ(detector.silent_for(now), Duration());
}

TEST(FailureDetector, OwnStandstillIsForgiven) {
  TimePoint now{};
  FailureDetector detector(kInterval, kCap, now);
  for (int i = 0; i < 10; ++i) detector.on_heartbeat(now += kInterval);
  const Duration before = detector.timeout();
  now += seconds(60);
  detector.forgive(now);
  EXPECT_FALSE(detector.silent(now + milliseconds(900)));
  detector.on_heartbeat(now += kInterval);
  EXPECT_EQ(detector.timeout(), before);
}

TEST(FailureDetector, APauseIsRememberedForMinutesAndFades) {
  TimePoint now{};
  FailureDetector detector(kInterval, kCap, now);
  for (int i = 0; i < 100; ++i) detector.on_heartbeat(now += kInterval);
  detector.on_heartbeat(now += milliseconds(1400));
  for (int i = 0; i < 60; ++i) detector.on_heartbeat(now += kInterval);
  // The smoothed mean and deviation have forgotten it.
  EXPECT_GT(detector.timeout(), milliseconds(1400));
  for (int i = 0; i < 400; ++i) detector.on_heartbeat(now += kInterval);
  EXPECT_EQ(detector.timeout(), 4 * kInterval);
}

TEST(FailureDetector, WhoWasTakenForLostInErrorGetsTheCap) {
  FailureDetector detector(kInterval, kCap, TimePoint());
  detector.be_patient();
  EXPECT_EQ(detector.timeout(), kCap);
}

TEST(FailureDetector, CapBelowFourIntervalsWins) {
  const FailureDetector detector(seconds(1), seconds(2), TimePoint());
  EXPECT_EQ(detector.timeout(), seconds(2));
}

}  // namespace
}  // namespace weft::failure_detector_test
