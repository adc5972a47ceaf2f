#include "weft/app/demo/demo_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weft/train/run/summary.h"

namespace weft::demo_report_test {
namespace {

using testing::HasSubstr;

DemoPeer finished(const std::string& id, const std::string& hash, double lost) {
  Summary summary;
  summary.peer_id = id;
  summary.state_hash = hash;
  summary.test_accuracy = 0.9;
  summary.seconds_lost = lost;
  summary.bytes_sent = 1000;
  return {id, "finished", summary_event(summary)};
}

DemoReport good_report() {
  DemoReport report;
  report.peers = {finished("aaaa", "77", 0.5),
                  {"bbbb", "killed", std::nullopt},
                  finished("cccc", "77", 0.9),
                  finished("dddd", "77", 0.0)};
  report.killed_peer = "bbbb";
  report.joined_peer = "dddd";
  report.seconds = 90;
  return report;
}

TEST(DemoReport, GoodEndHasTheDocumentedFields) {
  const DemoReport report = good_report();
  EXPECT_TRUE(report.ok());
  const auto json = nlohmann::json::parse(demo_json(report));
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(json.at("test_accuracy"), 0.9);
  EXPECT_EQ(json.at("peers").size(), 4U);
  EXPECT_EQ(json.at("peers")[1].at("status"), "killed");
  EXPECT_EQ(json.at("peers")[0].at("peer_id"), "aaaa");
  EXPECT_EQ(json.at("peers")[0].at("state_hash"), "77");
  EXPECT_EQ(json.at("killed_peer"), "bbbb");
  EXPECT_EQ(json.at("joined_peer"), "dddd");
  EXPECT_EQ(json.at("seconds"), 90.0);
  EXPECT_EQ(json.at("seconds_lost"), 0.9);
  EXPECT_EQ(json.at("bytes_sent"), 3000);
}

TEST(DemoReport, AnotherHashAFailedPeerOrNoKillIsNotOk) {
  DemoReport report = good_report();
  report.peers[2] = finished("cccc", "78", 0);
  EXPECT_FALSE(report.ok());
  report = good_report();
  report.peers[0].status = "left";
  EXPECT_FALSE(report.ok());
  report = good_report();
  report.killed_peer.clear();
  EXPECT_FALSE(report.ok());
  report = good_report();
  report.fault = "the peers did not end in time";
  EXPECT_FALSE(report.ok());
  EXPECT_THAT(demo_table(report).back(), HasSubstr("did not end in time"));
  EXPECT_FALSE(DemoReport().ok());
  EXPECT_TRUE(nlohmann::json::parse(demo_json(DemoReport())).at("test_accuracy").is_null());
}

// As after Ctrl-C: nobody has measured anything.
TEST(DemoReport, NothingIsShownThatWasNotMeasured) {
  DemoReport report;
  report.peers = {{"aaaa", "ended with exit code 130", std::nullopt}};
  report.seconds = 4;
  report.fault = "interrupted";
  std::string table;
  for (const std::string& line : demo_table(report)) table += line + "\n";
  EXPECT_THAT(table, HasSubstr("\n  4.0 s in all\n  FAILED: interrupted\n"));
  for (const char* word : {"nan", "accuracy", "losing", "?", "sent by"}) {
    EXPECT_THAT(table, testing::Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace weft::demo_report_test
