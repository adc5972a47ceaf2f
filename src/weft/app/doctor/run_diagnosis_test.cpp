#include "weft/app/doctor/run_diagnosis.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace weft::run_diagnosis_test {
namespace {

// The event "timings" of member `peer` of a to d, with the times of all.
std::string timings(const std::string& peer, int round, const std::string& compute,
                    const std::string& entry, const std::string& more = "") {
  return R"({"t":1,"kind":"timings","peer":")" + peer + R"(","peers":["a","b","c","d"],"round":)" +
         std::to_string(round) +
         R"(,"rounds":16,"round_seconds":1.5,"round_bytes":1000000,"compute_seconds":)" + compute +
         R"(,"entry_seconds":)" + entry + more + "}\n";
}

RunLog log_of(const std::string& text) {
  Result<RunLog> log = parse_run_log("OUT/events.jsonl", text, false);
  EXPECT_TRUE(log.ok()) << log.status().message();
  return log.ok() ? *std::move(log) : RunLog();
}

// The texts of the verdicts, and the summary.
std::vector<std::string> told(const std::vector<RunLog>& logs) {
  const Result<RunDiagnosis> run = diagnose_run(logs);
  if (!run.ok()) return {run.status().message()};
  std::vector<std::string> lines;
  for (const Verdict& verdict : run->verdicts) {
    lines.push_back(verdict_text(*run, verdict));
    EXPECT_FALSE(verdict_remedy(*run, verdict).empty());
  }
  lines.push_back(diagnosis_summary(*run));
  return lines;
}
using Lines = std::vector<std::string>;

const std::string kEqual = "[0.9,0.9,0.9,0.9]";

TEST(RunDiagnosis, AHealthyRunIsReportedAsSuch) {
  const RunLog log =
      log_of(timings("a", 7, kEqual, "[0.9,0.91,0.9,0.92]") + "{\"kind\":\"round\",\"round\":8}\n");
  EXPECT_EQ(told({log}),
            (Lines{"4 members, round 8, 1 log: healthy, no member or link stands out; "
                   "the median member computes 900 ms of a round, which takes 1.5 s"}));
}

TEST(RunDiagnosis, ASlowMemberIsNamedWithItsFigures) {
  const RunLog log = log_of(timings("a", 7, "[0.9,0.8,2.1,0.9]", "[0.9,0.8,2.1,0.9]"));
  EXPECT_EQ(told({log}),
            (Lines{"peer c (rank 2) is the one that the others wait for: its input to a round is "
                   "complete after 2.1 s, the median is 900 ms",
                   "4 members, round 0, 1 log: 1 finding"}));
  // By its own log alone, what it claims counts.
  const RunLog own = log_of(timings("c", 7, "[0.9,0.8,2.1,0.9]", "[0.1,0.1,2.1,0.1]"));
  EXPECT_EQ(told({own}).front(), told({log}).front());
}

TEST(RunDiagnosis, AClaimThatTheOthersContradict) {
  const RunLog log = log_of(timings("a", 7, kEqual, "[0.9,0.8,2.1,0.9]"));
  const Lines lines = told({log});
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1],
            "peer c (rank 2) contradicts the others: it claims that it computes a round in 900 ms, "
            "they have its input after 2.1 s");
}

TEST(RunDiagnosis, LinksAreComparedWithEachOther) {
  // By receiver: b receives from a at a tenth.
  const std::string rates =
      R"(,"link_rates":[0,9e6,9e6,9e6, 9e5,0,9e6,9e6, 9e6,9e6,0,9e6, 9e6,9e6,9e6,0])";
  const std::string one = timings("c", 7, kEqual, kEqual, rates);
  EXPECT_EQ(told({log_of(one)}).front(),
            "the link from peer a (rank 0) to peer b (rank 1) is slow: 900.0 kB/s, the median link "
            "carries 9.0 MB/s");
  // The sender's log does not agree.
  const std::string sender = timings("a", 7, kEqual, kEqual, R"(,"send_rates":[0,8e6,0,0])");
  EXPECT_EQ(told({log_of(one), log_of(sender)}),
            (Lines{"peer a (rank 0) and peer b (rank 1) contradict each other: their link carries "
                   "8.0 MB/s by the one that sends, 900.0 kB/s by the one that receives",
                   "4 members, round 0, 2 logs: 1 finding"}));
}

TEST(RunDiagnosis, AWaitThatIsNotOverIsAHang) {
  const std::string begin = timings("a", 7, kEqual, kEqual);
  const std::string wait =
      R"({"kind":"waiting","round":8,"peers":["b"],"seconds":4.5,"text":"x","absent":["b"]})"
      "\n";
  const std::string hangs =
      "round 8 waits for peer b (rank 1): others have entered it, peer b (rank 1) has not; nothing "
      "has moved for 4.5 s";
  EXPECT_EQ(told({log_of(begin + wait)}).front(), hangs);
  EXPECT_EQ(told({log_of(begin + wait + R"({"kind":"peers","peers":[]})" + "\n")}).front(), hangs);
  for (const std::string end :
       {R"({"kind":"round","round":8})", R"({"kind":"waiting_over","round":8})",
        R"({"kind":"view_changed","number":2})", R"({"kind":"summary","steps":8})"}) {
    std::string ended = begin + wait;
    ended.append(end).append("\n");
    EXPECT_EQ(told({log_of(ended)}).size(), 1U) << end;
  }
  // All have entered, and data of b is missing.
  const std::string exchange =
      R"({"kind":"waiting","round":8,"peers":["b"],"seconds":4.5,"text":"x"})"
      "\n";
  EXPECT_EQ(told({log_of(begin + exchange)}).front(),
            "round 8 hangs between peer b (rank 1) and peer a (rank 0): all have entered it, and "
            "data from the first does not arrive at the second; nothing has moved for 4.5 s");
}

TEST(RunDiagnosis, ALaterStartOfTheRunCountsAlone) {
  const std::string slow = timings("a", 7, "[0.9,0.8,2.1,0.9]", "[0.9,0.8,2.1,0.9]");
  const std::string again = "{\"kind\":\"started\",\"peer\":\"a\"}\n";
  EXPECT_NE(told({log_of(slow + again)}).front().find("has no event timings"), std::string::npos);
  EXPECT_EQ(told({log_of(slow + again + timings("a", 9, kEqual, kEqual))}).size(), 1U);
}

TEST(RunDiagnosis, LostMembersAreKept) {
  const RunLog log =
      log_of(R"({"kind":"peer_left","peer":"b","reason":"said goodbye","round":3})"
             "\n"
             R"({"kind":"peer_left","peer":"c","reason":"no heartbeat for 2.0 s","round":4})"
             "\n");
  ASSERT_EQ(log.lost.size(), 1U);
  EXPECT_EQ(log.lost[0].text("peer"), "c");
}

TEST(RunDiagnosis, LogsOfAnotherGroupDoNotCount) {
  const RunLog own = log_of(timings("a", 7, kEqual, kEqual));
  const RunLog other =
      log_of(R"({"kind":"timings","peer":"x","peers":["x","y"],"round":5,"compute_seconds":[1,9]})"
             "\n");
  EXPECT_EQ(told({own, other}).size(), 1U);
  EXPECT_EQ(diagnose_run(std::vector<RunLog>{own, other})->other_logs, 1);
}

TEST(RunDiagnosis, DamagedLogsGiveTheLine) {
  const std::string good = timings("a", 7, kEqual, kEqual);
  const auto why = [](const std::string& text) {
    const Result<RunLog> log = parse_run_log("OUT/events.jsonl", text, false);
    return log.ok() ? std::string() : log.status().message();
  };
  EXPECT_EQ(why(good + "{\"kind\":\"round\""), "");  // the peer is writing it
  EXPECT_NE(why(good + "{\"kind\":\"round\"\n").find("OUT/events.jsonl: line 2: "),
            std::string::npos);
  EXPECT_NE(why("\n").find("line 1: "), std::string::npos);
  EXPECT_NE(why(std::string("\0\0\0\n", 4)).find("line 1: "), std::string::npos);
  EXPECT_EQ(why(std::string("}\n")).find("line 1: ") == std::string::npos, false);
  // The first line of the end of a long file is part of one.
  EXPECT_TRUE(parse_run_log("x", "9]}\n" + good, true).ok());
}

TEST(RunDiagnosis, EventsThatCannotBeTrueAreRefused) {
  const auto code = [](const std::string& text) {
    const RunLog log = log_of(text);
    return diagnose_run(std::vector<RunLog>{log}).status().code();
  };
  EXPECT_EQ(code(timings("a", 7, kEqual, kEqual)), Code::kOk);
  EXPECT_EQ(code(timings("a", -7, kEqual, kEqual)), Code::kOk);
  EXPECT_EQ(code(timings("a", 7, "[1,2]", kEqual)), Code::kCorrupt);
  EXPECT_EQ(code(timings("a", 7, "[1,1,1,-9]", kEqual)), Code::kCorrupt);
  EXPECT_EQ(code(timings("a", 7, "[1,1,1,1e300]", kEqual)), Code::kCorrupt);
  EXPECT_EQ(code(timings("a", 7, kEqual, "[1,1,1]")), Code::kCorrupt);
  EXPECT_EQ(code(timings("a", 7, kEqual, kEqual, R"(,"link_rates":[1,2,3])")), Code::kCorrupt);
  EXPECT_EQ(code(timings("a", 7, kEqual, kEqual, R"(,"send_rates":[0,1e-300,1,1])")),
            Code::kCorrupt);
  EXPECT_EQ(code(timings("nobody", 7, kEqual, kEqual)), Code::kCorrupt);
  EXPECT_EQ(code("{\"kind\":\"timings\",\"peer\":\"a\",\"peers\":[]}\n"), Code::kCorrupt);
  EXPECT_EQ(code("{\"kind\":\"timings\",\"peer\":\"a\",\"peers\":[\"a\",\"a\"]}\n"),
            Code::kCorrupt);
  EXPECT_EQ(code("{\"kind\":\"timings\",\"peer\":7,\"peers\":\"a\",\"round\":\"x\"}\n"),
            Code::kCorrupt);
  EXPECT_EQ(code("{\"kind\":\"round\",\"round\":1}\n"), Code::kUnavailable);
}

}  // namespace
}  // namespace weft::run_diagnosis_test
