#include "weft/train/event.h"

#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "weft/train/event_log.h"

namespace weft::event_test {
namespace {

using testing::HasSubstr;

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Event, JsonRoundTripKeepsOrderAndTypes) {
  Event event("view_changed");
  event.unix_time_s = 12.5;
  event.with("number", std::int64_t{7})
      .with("members", std::vector<std::string>{"a", "b"})
      .with("reason", std::string("peer \"x\"\n left"));
  const std::string line = to_json(event);
  EXPECT_EQ(line,
            "{\"t\":12.5,\"kind\":\"view_changed\",\"number\":7,\"members\":[\"a\",\"b\"],"
            "\"reason\":\"peer \\\"x\\\"\\n left\"}");
  const Result<Event> again = parse_event(line);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(to_json(*again), line);
  EXPECT_EQ(again->integer("number"), 7);
  EXPECT_EQ(again->number("number"), 7.0);
  EXPECT_EQ(again->list("members").size(), 2U);
  EXPECT_EQ(again->text("absent"), "");
}

TEST(Event, NotANumberBecomesNullAndBadUtf8IsReplaced) {
  Event event("round");
  event.with("loss", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(to_json(event), HasSubstr("\"loss\":null"));
  Event note("note");
  note.with("text", std::string("\xff\xfe"));
  EXPECT_TRUE(parse_event(to_json(note)).ok());
}

TEST(Event, HostileLinesAreRefused) {
  for (const char* line : {"", "{", "[]", "{}", "{\"kind\":3}", "\xff", "{\"kind\":\"a\"}}"}) {
    EXPECT_EQ(parse_event(line).status().code(), Code::kCorrupt) << line;
  }
  EXPECT_FALSE(parse_event(std::string(2U << 20U, ' ')).ok());
}

TEST(Event, TableRefusesUnknownKindsFieldsAndTypes) {
  EXPECT_FALSE(is_documented(Event("nonsense")));
  EXPECT_FALSE(is_documented(Event("round").with("nonsense", true)));
  EXPECT_FALSE(is_documented(Event("round").with("loss", std::string("low"))));
  EXPECT_TRUE(is_documented(Event("round").with("loss", 0.5)));
}

TEST(Event, PlainWordsGiveReasonAndAction) {
  Event left("peer_left");
  left.with("peer", std::string("b81f"))
      .with("reason", std::string("no heartbeat for 2.0 s"))
      .with("round", std::int64_t{212});
  EXPECT_EQ(describe(left),
            "peer b81f left (no heartbeat for 2.0 s) in round 212; the others go on without it");
  Event rerun("round_rerun");
  rerun.with("round", std::int64_t{212})
      .with("members", std::int64_t{3})
      .with("reason", std::string("peer b81f left"))
      .with("seconds_lost", 0.92);
  EXPECT_EQ(describe(rerun), "round 212 run again by 3 (peer b81f left), 0.9 s lost");
  EXPECT_EQ(describe(Event("round")), "");
  const Event ticket = Event("ticket").with("ticket", std::string("weft1-abc")).with("valid_h", 24);
  EXPECT_THAT(describe(ticket), HasSubstr("\n  weft join weft1-abc"));
}

TEST(Event, PageInDocsIsTheRealOne) {
  EXPECT_EQ(read_file(std::string(WEFT_SOURCE_DIR) + "/docs/events.md"), event_page())
      << "write the output of `weft events` into docs/events.md";
}

TEST(EventLog, AppendsWholeLinesAcrossRunsAndTellsTheListener) {
  const std::string path = testing::TempDir() + "weft_events_" + std::to_string(::getpid());
  const SystemClock clock;
  int heard = 0;
  for (int run = 0; run < 2; ++run) {
    auto log = EventLog::open(path, clock, [&](const Event&) { ++heard; });
    ASSERT_TRUE(log.ok());
    (*log)->append(Event("note").with("text", std::string("hello")));
    EXPECT_TRUE((*log)->write_status().ok());
  }
  std::istringstream lines(read_file(path));
  std::string line;
  int count = 0;
  for (; std::getline(lines, line); ++count) EXPECT_TRUE(parse_event(line).ok());
  EXPECT_EQ(count, 2);
  EXPECT_EQ(heard, 2);
  ::unlink(path.c_str());
}

TEST(EventLog, FullDiskCostsTheFileAndNotTheRun) {
  const SystemClock clock;
  int heard = 0;
  auto log = EventLog::open("/dev/full", clock, [&](const Event&) { ++heard; });
  ASSERT_TRUE(log.ok());
  (*log)->append(Event("note"));
  (*log)->append(Event("note"));
  EXPECT_EQ((*log)->write_status().code(), Code::kUnavailable);
  EXPECT_EQ(heard, 2);
  EXPECT_FALSE(EventLog::open("/nonexistent/events", clock, {}).ok());
}

}  // namespace
}  // namespace weft::event_test
