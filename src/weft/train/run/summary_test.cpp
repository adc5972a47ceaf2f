#include "weft/train/run/summary.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "weft/base/file.h"
#include "weft/train/run/round_meter.h"

namespace weft::summary_test {
namespace {

TEST(Summary, FileHasTheDocumentedFields) {
  Summary summary;
  summary.run_id = "r";
  summary.peer_id = "p";
  summary.steps = 12;
  summary.final_loss = 0.5;
  summary.state_hash = "ab";
  summary.bytes_sent = 1U << 31U;
  const std::string path = testing::TempDir() + "weft_summary_" + std::to_string(::getpid());
  ASSERT_TRUE(write_summary(path, summary).ok());
  const auto json = nlohmann::json::parse(to_text(*read_file(path, 4096)));
  for (const char* name : {"run_id", "peer_id", "steps", "final_loss", "test_accuracy",
                           "state_hash", "view_changes", "rounds_rerun", "seconds", "seconds_lost",
                           "bytes_sent", "bytes_received", "samples_per_second", "status"}) {
    EXPECT_TRUE(json.contains(name)) << name;
  }
  EXPECT_TRUE(json.at("test_accuracy").is_null());
  EXPECT_EQ(json.at("bytes_sent"), std::uint64_t{1} << 31U);
  EXPECT_EQ(json.at("status"), "finished");
  EXPECT_TRUE(is_documented(summary_event(summary)));
  EXPECT_EQ(write_summary("/nonexistent/folder/summary.json", summary).code(), Code::kUnavailable);
  ::unlink(path.c_str());
}

TEST(Summary, SaysWithWhomAGossipingMemberMixed) {
  Summary summary;
  EXPECT_EQ(summary_event(summary).find("neighbours"), nullptr);
  summary.mixing.emplace(MixingSummary{200, 4, 0.01, 3, 2});
  const Event event = summary_event(summary);
  EXPECT_TRUE(is_documented(event));
  EXPECT_EQ(event.integer("members"), 200);
  EXPECT_EQ(event.integer("neighbours"), 4);
  EXPECT_EQ(event.number("distance"), 0.01);
  EXPECT_EQ(event.integer("missed"), 3);
  EXPECT_EQ(event.integer("rounds_left_out"), 2);
}

TEST(RoundMeter, SplitsTimeIntoComputingWaitingAndSending) {
  RoundMeter meter;
  EXPECT_EQ(meter.samples_per_second(), 0.0);
  EXPECT_EQ(meter.shares().compute, 0.0);
  for (int i = 0; i < 40; ++i) meter.add({0.1, 0.06, 0.04, 0.07, 64});
  EXPECT_NEAR(meter.samples_per_second(), 640.0, 1e-9);
  EXPECT_NEAR(meter.mean_samples_per_second(), 640.0, 1e-9);
  EXPECT_NEAR(meter.seconds_per_round(), 0.1, 1e-12);
  EXPECT_NEAR(meter.shares().compute, 0.6, 1e-9);
  EXPECT_NEAR(meter.shares().wait, 0.1, 1e-9);
  EXPECT_NEAR(meter.shares().send, 0.3, 1e-9);
}

}  // namespace
}  // namespace weft::summary_test
