// A LaunchProfile sees launches and what is inside of them; an OpAttribution knows their
// operations.
#include "weft/array/profile/launch_profile.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "weft/array/launch.h"

namespace weft::launch_profile_test {
namespace {

// Each look at it is a microsecond later.
class TickingClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::microseconds(++ticks_)); }
  std::int64_t unix_time_s() const override { return 0; }

 private:
  mutable std::int64_t ticks_ = 0;
};

void work(const char* name, Array& out, double flops = 0) {
  launch(name, {}, {&out}, [flops](LaunchArrays, LaunchArrays) { launch_flops(flops); });
}

TEST(LaunchProfile, AnOperationClaimsWhatWasLaunchedSinceTheOneBefore) {
  const TickingClock clock;
  LaunchProfile profile(clock);
  Array x = Array::empty({2});
  {
    const LaunchProfile::Scope scope(profile);
    work("a", x);
    work("b", x);
    note_op_done("first");
    work("c", x);
    note_op_done("second");
    work("d", x);
    {
      const GradientScope gradient("second");
      work("e", x);
      work("f", x);
      note_op_done("again");
      work("g", x);
    }
    work("h", x);
  }
  work("unseen", x);
  const std::vector<LaunchEvent> events = profile.take();
  ASSERT_EQ(events.size(), 8U);
  const char* const ops[] = {"first", "first", "second", "", "again", "again", "second", ""};
  const Pass passes[] = {Pass::kForward, Pass::kForward, Pass::kForward,  Pass::kNone,
                         Pass::kForward, Pass::kForward, Pass::kBackward, Pass::kNone};
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].op.name, ops[i]) << events[i].name;
    EXPECT_EQ(events[i].op.pass, passes[i]) << events[i].name;
    EXPECT_LT(events[i].begin, events[i].end);
  }
  EXPECT_EQ(events[0].op.call, events[1].op.call);
  EXPECT_NE(events[1].op.call, events[2].op.call);
  EXPECT_TRUE(profile.take().empty());
}

TEST(LaunchProfile, FlopsOfPartsAreTheLaunchsToo) {
  const TickingClock clock;
  LaunchProfile profile(clock);
  Array x = Array::empty({3, 5});
  {
    const LaunchProfile::Scope scope(profile);
    launch("whole", {}, {&x}, [](LaunchArrays, LaunchArrays) {
      launch_flops(1);
      const LaunchPart part("part");
      launch_flops(10);
      launch_flops(100);
    });
  }
  const std::vector<LaunchEvent> events = profile.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].flops, 111);
  EXPECT_EQ(events[0].depth, 0);
  EXPECT_EQ(events[1].name, "part");
  EXPECT_EQ(events[1].flops, 110);
  EXPECT_EQ(events[1].depth, 1);
  EXPECT_LT(events[0].begin, events[1].begin);
  EXPECT_LT(events[1].end, events[0].end);
}

TEST(LaunchProfile, BytesAreThoseOfTheDistinctElements) {
  const TickingClock clock;
  LaunchProfile profile(clock);
  profile.keep_shapes(true);
  const Array row = Array::full({1, 4}, 1.0);
  const Array rows = row.as_strided({8, 4}, {0, 1}, 0);
  const Array none;
  Array y = Array::empty({8, 4}, DType::kF64);
  {
    const LaunchProfile::Scope scope(profile);
    launch("default", {&rows, &none}, {&y}, [](LaunchArrays, LaunchArrays) {});
    launch("told", {&rows}, {&y}, [](LaunchArrays, LaunchArrays) { launch_bytes(7); });
  }
  const std::vector<LaunchEvent> events = profile.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].bytes, 4 * 4 + 8 * 4 * 8);
  EXPECT_EQ(events[0].shapes, "f32[8, 4], none -> f64[8, 4]");
  EXPECT_EQ(events[1].bytes, 7);
}

TEST(LaunchProfile, HoldsABoundedNumberOfLaunches) {
  const TickingClock clock;
  LaunchProfile profile(clock);
  Array x = Array::empty({1});
  {
    const LaunchProfile::Scope scope(profile);
    for (std::size_t i = 0; i < LaunchProfile::kEventsMax + 3; ++i) work("a", x, 1);
  }
  EXPECT_EQ(profile.dropped(), 3);
  EXPECT_EQ(profile.take().size(), LaunchProfile::kEventsMax);
  EXPECT_EQ(profile.dropped(), 0);
}

TEST(LaunchProfile, ALaunchThatThrowsEnds) {
  const TickingClock clock;
  LaunchProfile profile(clock);
  Array x = Array::empty({1});
  {
    const LaunchProfile::Scope scope(profile);
    EXPECT_THROW(launch("a", {}, {&x},
                        [](LaunchArrays, LaunchArrays) { throw std::invalid_argument("[a]"); }),
                 std::invalid_argument);
    work("b", x);
  }
  const std::vector<LaunchEvent> events = profile.take();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[1].depth, 0);
}

}  // namespace
}  // namespace weft::launch_profile_test
