// `weft bench train --profile`, and `bench forward`, end to end: the same losses, sums of 100 %, a
// trace that nests.
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/base/file.h"
#include "weft/train/bench/bench_forward.h"
#include "weft/train/bench/bench_train.h"

namespace weft::bench_profile_test {
namespace {

using nlohmann::json;

const SystemClock kClock;

// So few steps as a measurement takes at least.
TrainBenchOptions few_steps(const std::string& model, const std::string& precision, bool capture) {
  TrainBenchOptions options;
  options.model = model;
  options.batch = 4;
  options.precision = precision;
  options.capture = capture;
  options.duration = Duration(1);
  return options;
}

double sum_ms(const std::vector<ProfileRow>& rows) {
  double sum = 0;
  for (const ProfileRow& row : rows) {
    if (!row.is_part) sum += row.ms;
  }
  return sum;
}

void expect_whole(const ProfileReport& report, const std::vector<ProfileRow>& rows) {
  EXPECT_FALSE(rows.empty());
  EXPECT_NEAR(sum_ms(rows) + report.outside_ms, report.step_ms, 1e-6 * report.step_ms);
  EXPECT_GE(report.outside_ms, 0);
}

TEST(BenchProfile, TheLossHasTheSameBitsAndTheRowsSumToTheStep) {
  for (const bool capture : {true, false}) {
    for (const char* const precision : {"f32", "bf16"}) {
      SCOPED_TRACE(std::string(precision) + (capture ? " captured" : " eager"));
      TrainBenchOptions options = few_steps("mlp", precision, capture);
      const Result<TrainBenchResult> off = bench_train(options, kClock);
      options.profile.wanted = true;
      const Result<TrainBenchResult> on = bench_train(options, kClock);
      ASSERT_TRUE(off.ok() && on.ok());
      EXPECT_EQ(off->times.runs, on->times.runs);
      EXPECT_EQ(off->loss, on->loss);
      EXPECT_FALSE(off->profile);
      ASSERT_TRUE(on->profile);
      EXPECT_EQ(on->profile->steps, on->times.runs);
      EXPECT_GT(on->profile->triad_bytes, 0);
      expect_whole(*on->profile, on->profile->ops);
      expect_whole(*on->profile, on->profile->kernels);
    }
  }
}

TEST(BenchProfile, CapturedAndEagerStepsComputeTheSameFlops) {
  TrainBenchOptions options = few_steps("cnn", "f32", true);
  options.profile.wanted = true;
  const Result<TrainBenchResult> captured = bench_train(options, kClock);
  options.capture = false;
  const Result<TrainBenchResult> eager = bench_train(options, kClock);
  ASSERT_TRUE(captured.ok() && eager.ok());
  EXPECT_GT(captured->profile->flops, 0);
  EXPECT_NEAR(captured->profile->flops, eager->profile->flops, 1e-9 * eager->profile->flops);
}

// Whether complete events of one thread lie in each other or apart.
void expect_nested(const json& events) {
  std::vector<double> ends;
  for (const json& event : events) {
    ASSERT_EQ(event.at("ph"), "X");
    const double begin = event.at("ts");
    const double end = begin + event.at("dur").get<double>();
    // Times are whole nanoseconds, and sums of them round.
    while (!ends.empty() && ends.back() <= begin + 5e-4) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back() + 5e-4) << event.dump();
    }
    ends.push_back(end);
  }
}

TEST(BenchProfile, TheTraceParsesAndItsEventsNest) {
  const std::string path = testing::TempDir() + "weft_bench_profile_trace.json";
  std::filesystem::remove(path);
  for (const bool capture : {true, false}) {
    TrainBenchOptions options = few_steps("cnn", "f32", capture);
    options.profile.trace_path = path;
    const Result<TrainBenchResult> result = bench_train(options, kClock);
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_TRUE(result->profile);
    const json trace = json::parse(to_text(*read_file(path, 100'000'000)));
    const json& events = trace.at("traceEvents");
    expect_nested(events);
    std::map<std::string, int> by_category;
    for (const json& event : events) ++by_category[event.at("cat")];
    EXPECT_EQ(by_category["step"], static_cast<int>(StepProfiler::kTracedSteps));
    for (const char* const category : {"forward", "backward", "kernel", "part"}) {
      EXPECT_GT(by_category[category], 0) << category;
    }
    // Not replaced by accident.
    EXPECT_EQ(bench_train(options, kClock).status().code(), Code::kInvalidArgument);
    std::filesystem::remove(path);
  }
}

TEST(BenchProfile, RowsOfAForwardPassSumToThePass) {
  for (const bool cached : {false, true}) {
    ForwardBenchOptions options;
    options.model = "llama4x128";
    options.batch = 2;
    options.cached = cached;
    options.duration = Duration(1);
    options.profile.wanted = true;
    const Result<ForwardBenchResult> result = bench_forward(options, kClock);
    ASSERT_TRUE(result.ok()) << result.status().message();
    ASSERT_TRUE(result->profile);
    EXPECT_EQ(result->profile->steps, result->times.runs);
    expect_whole(*result->profile, result->profile->ops);
    expect_whole(*result->profile, result->profile->kernels);
    EXPECT_THAT(to_table(*result->profile), testing::HasSubstr("the whole pass"));
    EXPECT_TRUE(json::parse(to_json(*result)).contains("profile"));
  }
}

TEST(BenchProfile, AFileThatCannotBeWrittenIsRefusedBeforeTheMeasurement) {
  TrainBenchOptions options = few_steps("mlp", "f32", true);
  options.duration = from_seconds(86400);
  options.profile.trace_path = "/no such folder/trace.json";
  const Status refused = bench_train(options, kClock).status();
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_THAT(refused.message(), testing::HasSubstr("/no such folder"));
  ForwardBenchOptions passes;
  passes.duration = options.duration;
  passes.profile = options.profile;
  EXPECT_EQ(bench_forward(passes, kClock).status().to_string(), refused.to_string());
}

}  // namespace
}  // namespace weft::bench_profile_test
