#include "weft/collective/engine/bench_all_reduce.h"

#include <gtest/gtest.h>

namespace weft::bench_all_reduce_test {
namespace {

TEST(BenchAllReduce, MeasuresEveryTransportAndChecksTheSum) {
  for (const char* transport : {"tls", "tcp", "shm"}) {
    for (const std::int64_t bytes : {4096, 3'000'000}) {
      AllReduceBenchOptions options;
      options.peers = 3;
      options.bytes = bytes;
      options.transport = transport;
      options.repetitions = 3;
      options.limit = std::chrono::seconds(60);
      const Result<AllReduceBenchResult> result = bench_all_reduce(options);
      ASSERT_TRUE(result.ok()) << transport << ": " << result.status().to_string();
      EXPECT_EQ(result->repetitions, 3);
      EXPECT_GT(result->min_seconds, 0);
      EXPECT_LE(result->min_seconds, result->median_seconds);
      EXPECT_NEAR(result->bus_bandwidth_gb_per_s * result->median_seconds * 1e9,
                  4.0 / 3 * static_cast<double>(bytes), 1.0);
    }
  }
}

TEST(BenchAllReduce, MeasuresEveryWayAndPrecision) {
  for (const char* algorithm : {"ring", "butterfly"}) {
    for (const char* wire : {"f32", "bf16", "int8"}) {
      AllReduceBenchOptions options;
      options.peers = 3;
      options.bytes = 400'000;
      options.transport = "shm";
      options.repetitions = 2;
      options.wire = wire;
      options.algorithm = algorithm;
      options.limit = std::chrono::seconds(60);
      const Result<AllReduceBenchResult> result = bench_all_reduce(options);
      ASSERT_TRUE(result.ok()) << algorithm << ", " << wire << ": " << result.status().to_string();
      EXPECT_EQ(result->wire, wire);
    }
  }
}

TEST(BenchAllReduce, MeasuresTheWayByHosts) {
  AllReduceBenchOptions options;
  options.peers = 3;
  options.bytes = 400'000;
  options.transport = "tcp";
  options.repetitions = 2;
  options.hosts = {0, 1, 0};
  options.limit = std::chrono::seconds(60);
  const Result<AllReduceBenchResult> result = bench_all_reduce(options);
  ASSERT_TRUE(result.ok()) << result.status().to_string();
}

TEST(BenchAllReduce, RefusesWhatMakesNoSense) {
  const auto code = [](auto change) {
    AllReduceBenchOptions options;
    change(options);
    return bench_all_reduce(options).status().code();
  };
  EXPECT_EQ(code([](auto& options) { options.peers = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.bytes = 6; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.bytes = 0; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.segment_bytes = 1 << 21; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.rank = 4; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.hosts = {0, 1}; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.wire = "f64"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) { options.algorithm = "star"; }), Code::kInvalidArgument);
  EXPECT_EQ(code([](auto& options) {
              options.peers = 1;
              options.bytes = 64;
              options.transport = "pigeon";
            }),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace weft::bench_all_reduce_test
