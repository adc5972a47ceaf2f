// FLOPs against closed forms, and reports whose parts make up the whole.
#include "weft/train/profile/step_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/array/launch.h"
#include "weft/autograd/backward.h"
#include "weft/graph/graph.h"
#include "weft/op/ops.h"

namespace weft::step_profile_test {
namespace {

using testing::HasSubstr;

const SystemClock kClock;

Tensor parameter(const Shape& shape) { return Tensor(Array::full(shape, 0.5), true); }

std::vector<LaunchEvent> launched(const std::function<void()>& run) {
  LaunchProfile profile(kClock);
  {
    const LaunchProfile::Scope scope(profile);
    run();
  }
  return profile.take();
}

// The sum over the outermost launches of an operation, in one pass.
double flops_of(const std::vector<LaunchEvent>& events, const std::string& op, Pass pass) {
  double flops = 0;
  for (const LaunchEvent& event : events) {
    if (event.depth == 0 && event.op.name == op && event.op.pass == pass) flops += event.flops;
  }
  return flops;
}

double part_flops(const std::vector<LaunchEvent>& events, const std::string& name) {
  double flops = 0;
  for (const LaunchEvent& event : events) {
    if (event.depth == 1 && event.name == name) flops += event.flops;
  }
  return flops;
}

TEST(StepProfile, AProductOfMatricesHasTwoOperationsForEachTerm) {
  const Tensor a = parameter({3, 5, 7});
  const Tensor b = parameter({3, 7, 11});
  const auto events = launched([&] { backward(sum(matmul(a, b))); });
  const double product = 2.0 * 3 * 5 * 7 * 11;
  EXPECT_EQ(flops_of(events, "matmul", Pass::kForward), product);
  EXPECT_EQ(flops_of(events, "matmul", Pass::kBackward), 2 * product);
}

struct ConvCase {
  const char* name;
  Shape x;
  Shape weight;
  Conv2dOptions options;
  double outputs;  // of one channel of one image
};

TEST(StepProfile, AConvolutionHasTwoOperationsForEachTermOfEachSum) {
  const ConvCase cases[] = {
      {"minimal filtering", {2, 16, 12, 12}, {24, 16, 3, 3}, {.padding = {1, 1}}, 12.0 * 12},
      {"oneDNN", {2, 16, 12, 12}, {24, 16, 5, 5}, {}, 8.0 * 8},
      {"steps", {2, 3, 13, 12}, {8, 3, 3, 3}, {.stride = {2, 2}}, 6.0 * 5},
      {"groups", {2, 6, 8, 8}, {4, 3, 3, 3}, {.groups = 2}, 6.0 * 6},
  };
  for (const ConvCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Tensor x = parameter(one.x);
    const Tensor weight = parameter(one.weight);
    const auto events = launched([&] { backward(sum(conv2d(x, weight, Tensor(), one.options))); });
    const double terms = static_cast<double>(one.weight[1] * one.weight[2] * one.weight[3]);
    const double direction = 2.0 * 2 * static_cast<double>(one.weight[0]) * one.outputs * terms;
    EXPECT_DOUBLE_EQ(flops_of(events, "conv2d", Pass::kForward), direction);
    EXPECT_NEAR(part_flops(events, "conv2d_weight_gradient"), direction, 1e-9 * direction);
    EXPECT_NEAR(part_flops(events, "conv2d_data_gradient"), direction, 1e-9 * direction);
    EXPECT_NEAR(flops_of(events, "conv2d", Pass::kBackward), 2 * direction, 1e-9 * direction);
  }
}

TEST(StepProfile, AReplayHasTheOperationsAndTheFlopsOfTheEagerRun) {
  const Tensor x = parameter({4, 6});
  const Tensor w = parameter({6, 6});
  BackwardOptions options;
  options.leaf_gradients = LeafGradients::kOverwrite;
  const auto run = [&] { backward(mean(tanh(matmul(x, w)) * 2.0), {}, options); };
  const auto eager = launched(run);
  Graph graph = capture(run);
  const auto replayed = launched([&] { graph.replay(); });
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    EXPECT_EQ(flops_of(replayed, "matmul", pass), flops_of(eager, "matmul", pass));
    EXPECT_GT(flops_of(replayed, "matmul", pass), 0);
  }
  EXPECT_LT(replayed.size(), eager.size()) << "chains are one launch";
  for (const LaunchEvent& event : replayed) {
    // The sweep makes its seed before any operation's gradient.
    EXPECT_EQ(event.op.name.empty(), event.name == "fill") << event.name;
  }
}

// Starts at 0 and goes on by hand.
class HandClock final : public Clock {
 public:
  TimePoint now() const override { return TimePoint(std::chrono::microseconds(us)); }
  std::int64_t unix_time_s() const override { return 0; }
  std::int64_t us = 0;
};

TEST(StepProfile, TheRowsAndWhatNoKernelCoversAreTheStep) {
  HandClock clock;
  StepProfiler profiler(clock, 0);
  Array x = Array::empty({1000});
  const auto work = [&](const char* name, std::int64_t us) {
    launch(name, {}, {&x}, [&clock, us](LaunchArrays, LaunchArrays) { clock.us += us; });
  };
  for (int step = 0; step < 2; ++step) {
    const TimePoint begin = clock.now();
    {
      const LaunchProfile::Scope scope(profiler.launches());
      clock.us += 10;
      work("product", 300);
      work("sum", 100);
      note_op_done("linear");
      work("product", 200);
      note_op_done("linear");
      work("sgd_step", 50);
    }
    clock.us += 40;
    profiler.add_step(begin, clock.now());
  }
  ProfileReport report = profiler.report();
  EXPECT_EQ(report.steps, 2);
  EXPECT_DOUBLE_EQ(report.step_ms, 0.7);
  EXPECT_DOUBLE_EQ(report.outside_ms, 0.05);
  ASSERT_EQ(report.ops.size(), 2U);
  EXPECT_EQ(report.ops[0].name, "linear");
  EXPECT_EQ(report.ops[0].calls, 2);
  EXPECT_DOUBLE_EQ(report.ops[0].ms, 0.6);
  EXPECT_EQ(report.ops[1].name, "sgd_step");
  ASSERT_EQ(report.kernels.size(), 3U);
  EXPECT_EQ(report.kernels[0].name, "product");
  EXPECT_EQ(report.kernels[0].calls, 2);
  EXPECT_DOUBLE_EQ(report.kernels[0].ms, 0.5);
  EXPECT_DOUBLE_EQ(report.kernels[1].bytes, 4000);
  report.triad_bytes = 80e6;
  const std::string table = to_table(report);
  // 4000 bytes in 0.1 ms are 0.04 GB/s, half of 0.08.
  EXPECT_THAT(table, HasSubstr("0.100   14.3 %             0.0  50 %"));
  EXPECT_THAT(table, HasSubstr("outside of all kernels"));
  EXPECT_THAT(table, HasSubstr("0.700  100.0 %"));
}

TEST(StepProfile, APartStandsBehindItsKernelAndCountsOnce) {
  HandClock clock;
  StepProfiler profiler(clock, 0);
  Array x = Array::empty({10});
  {
    const LaunchProfile::Scope scope(profiler.launches());
    launch("convolution", {}, {&x}, [&clock](LaunchArrays, LaunchArrays) {
      clock.us += 100;
      const LaunchPart part("transform");
      clock.us += 50;
      // What a part launches is in its time, and has no row.
      const LaunchPart inside("inside");
      clock.us += 30;
    });
    note_op_done("conv2d");
  }
  clock.us += 20;
  profiler.add_step(TimePoint(), clock.now());
  const ProfileReport report = profiler.report();
  EXPECT_DOUBLE_EQ(report.outside_ms, 0.02);
  ASSERT_EQ(report.ops.size(), 1U);
  EXPECT_DOUBLE_EQ(report.ops[0].ms, 0.18);
  ASSERT_EQ(report.kernels.size(), 2U);
  EXPECT_EQ(report.kernels[0].name, "convolution");
  EXPECT_DOUBLE_EQ(report.kernels[0].ms, 0.18);
  EXPECT_FALSE(report.kernels[0].is_part);
  EXPECT_EQ(report.kernels[1].name, "transform");
  EXPECT_DOUBLE_EQ(report.kernels[1].ms, 0.08);
  EXPECT_TRUE(report.kernels[1].is_part);
}

TEST(StepProfile, NothingMeasuredIsAnEmptyReport) {
  StepProfiler profiler(kClock, 3);
  EXPECT_THAT(to_table(profiler.report()), testing::Not(HasSubstr("nan")));
  EXPECT_THAT(to_chrome_trace(profiler.traced()), HasSubstr("\"traceEvents\":[]"));
}

}  // namespace
}  // namespace weft::step_profile_test
