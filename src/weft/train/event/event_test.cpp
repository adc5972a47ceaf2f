#include "weft/train/event/event.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weft/base/thread.h"
#include "weft/train/event/event_log.h"

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
  const Event ticket = Event("ticket").with("ticket", std::string("weft2-abc")).with("valid_h", 24);
  EXPECT_THAT(describe(ticket), HasSubstr("\n  weft join weft2-abc"));
  Event coded = ticket;
  coded.with("code", std::string("k7q2m4-xd9fhj-2wpz8y"));
  EXPECT_THAT(describe(coded),
              HasSubstr("\nor, on the same network, with:\n  weft join k7q2m4-xd9fhj-2wpz8y"));
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
    EXPECT_TRUE((*log)->close(std::chrono::seconds(30)).ok());
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
  std::vector<std::string> heard;
  auto log = EventLog::open("/dev/full", clock,
                            [&](const Event& event) { heard.push_back(event.text("text")); });
  ASSERT_TRUE(log.ok());
  // Told once, with the first event after the file's thread has found out.
  const TimePoint end = clock.now() + std::chrono::seconds(30);
  const auto told = [&] { return heard.size() > 1 && heard.back() != "event"; };
  while (!told() && clock.now() < end) (*log)->append(Event("note").with("text", "event"));
  ASSERT_TRUE(told());
  EXPECT_THAT(heard.back(), HasSubstr("No space left on device"));
  (*log)->append(Event("note").with("text", "event"));
  EXPECT_EQ(heard.back(), "event");
  const Status closed = (*log)->close(std::chrono::seconds(30));
  EXPECT_EQ(closed.code(), Code::kUnavailable);
  EXPECT_THAT(closed.message(), HasSubstr(std::to_string(heard.size() - 1) + " lines are missing"));
  EXPECT_FALSE(EventLog::open("/nonexistent/events", clock, {}).ok());
}

TEST(EventLog, SeveralThreadsAppendInOneOrder) {
  const std::string path = testing::TempDir() + "weft_order_" + std::to_string(::getpid());
  const SystemClock clock;
  std::vector<std::string> heard;
  {
    auto log = EventLog::open(path, clock,
                              [&](const Event& event) { heard.push_back(event.text("text")); });
    ASSERT_TRUE(log.ok());
    const auto append = [&](const char* name) {
      for (int i = 0; i < 500; ++i) (*log)->append(Event("note").with("text", name));
    };
    Thread other([&] { append("other"); });
    append("own");
    other.join();
  }
  std::istringstream lines(read_file(path));
  std::vector<std::string> written;
  for (std::string line; std::getline(lines, line);) {
    written.push_back(parse_event(line)->text("text"));
  }
  EXPECT_EQ(written, heard);
  EXPECT_EQ(written.size(), 1000U);
  ::unlink(path.c_str());
}

// A disk that does not answer: a pipe that nobody reads.
TEST(EventLog, AFileThatBlocksCostsLinesAndNoTime) {
  const std::string path = testing::TempDir() + "weft_blocked_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const SystemClock clock;
  std::vector<std::string> heard;
  auto log =
      EventLog::open(path, clock, [&](const Event& event) { heard.push_back(event.text("text")); });
  ASSERT_TRUE(log.ok());
  const std::string large(100000, 'x');
  for (int i = 0; i < 200; ++i) (*log)->append(Event("note").with("text", large));
  EXPECT_EQ(std::count(heard.begin(), heard.end(), large), 200);
  EXPECT_THAT(heard, testing::Contains(HasSubstr("the disk does not answer")));
  EXPECT_THAT((*log)->close(std::chrono::milliseconds(20)).message(),
              HasSubstr("the last events are not in it"));
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace weft::event_test
