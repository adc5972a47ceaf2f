#include "weft/app/terminal/status_block.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weft/app/terminal/terminal.h"

namespace weft::status_block_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Event round_event(int round, int members = 4) {
  return Event("round")
      .with("round", round)
      .with("rounds", 400)
      .with("loss", 0.51234)
      .with("accuracy", 0.8125)
      .with("members", members)
      .with("samples_per_second", 3210.4)
      .with("eta_s", 75.2)
      .with("compute_share", 0.7)
      .with("wait_share", 0.1)
      .with("send_share", 0.2);
}

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  std::int64_t unix_time_s() const override { return 0; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_{std::chrono::hours(1)};
};

TEST(StatusBlock, SaysWhereTheRunStandsAndWhatEachPeerDoes) {
  StatusBlock block;
  EXPECT_THAT(block.lines(80), IsEmpty());
  block.hear(round_event(100));
  block.hear(Event("peers")
                 .with("peers", std::vector<std::string>{"b81f", "77aa"})
                 .with("details", std::vector<std::string>{"this peer", "0.2 ms away"}));
  EXPECT_THAT(block.lines(200),
              ElementsAre("round 100/400 [#######.......................]  loss 0.5123  "
                          "accuracy 81.2 %",
                          "4 peers  3210 samples/s  ETA 1:15  compute 70 %, wait 10 %, send 20 %",
                          "  b81f  this peer", "  77aa  0.2 ms away"));
  for (const std::string& line : block.lines(20)) EXPECT_LE(line.size(), 20U);
}

TEST(StatusBlock, TextsOfTimesAndLines) {
  EXPECT_EQ(duration_text(75.2), "1:15");
  EXPECT_EQ(duration_text(4000), "1:06:40");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(clipped("aé", 2), "a");
  EXPECT_EQ(clipped("aé", 3), "aé");
  EXPECT_EQ(round_line(round_event(7)),
            "round 7/400  loss 0.5123  accuracy 81.2 %  4 peers  3210 samples/s  ETA 1:15");
}

// Members that average with neighbours have no group of one.
TEST(StatusBlock, SaysWithWhomARoundOfGossipWasMixed) {
  const auto line = [](int mixed) {
    return round_line(
        round_event(7, 200).with("neighbours", 4).with("mixed", mixed).with("distance", 0.00123));
  };
  EXPECT_EQ(line(4),
            "round 7/400  loss 0.5123  accuracy 81.2 %  200 peers, mixed with 4 neighbours, 0.12 % "
            "apart  3210 samples/s  ETA 1:15");
  EXPECT_THAT(line(3), HasSubstr("200 peers, mixed with 3 of 4 neighbours, 0.12 % apart"));
  EXPECT_THAT(line(0), HasSubstr("200 peers, mixed with 0 of 4 neighbours  "));
  const Event far = round_event(7, 3).with("neighbours", 1).with("mixed", 1).with("distance", 3.62);
  EXPECT_THAT(round_line(far), HasSubstr("3 peers, mixed with 1 neighbour, 362 % apart  "));
  EXPECT_THAT(round_line(round_event(7, 4).with("neighbours", 0).with("mixed", 0)),
              HasSubstr("accuracy 81.2 %  4 peers  3210"));
}

TEST(Terminal, PlainWritesRoundsAndNewsWithoutColour) {
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kPlain, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  terminal.hear(round_event(1));
  terminal.hear(Event("peer_left")
                    .with("peer", std::string("b81f"))
                    .with("reason", std::string("no heartbeat for 2.0 s"))
                    .with("round", 2));
  terminal.finish();
  EXPECT_EQ(
      out,
      round_line(round_event(1)) +
          "\npeer b81f left (no heartbeat for 2.0 s) in round 2; the others go on without it\n");
}

TEST(Terminal, PlainShowsAtMostOneRoundASecondAndTheFirstAndTheLast) {
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kPlain, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  terminal.hear(Event("ticket").with("ticket", std::string("weft1-abc")).with("valid_h", 24));
  for (int round = 1; round <= 400; ++round) {
    terminal.hear(round_event(round));
    clock.advance(std::chrono::milliseconds(10));
  }
  terminal.finish();
  EXPECT_THAT(out, HasSubstr("weft1-abc\n" + round_line(round_event(1)) + "\n" +
                             round_line(round_event(101)) + "\n"));
  EXPECT_THAT(out, HasSubstr(round_line(round_event(400)) + "\n"));
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2 + 5);
}

TEST(Terminal, PlainEndsWithTheLastRoundThereWas) {
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kPlain, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  for (int round = 1; round <= 3; ++round) terminal.hear(round_event(round));
  const Event evaluation =
      Event("evaluation").with("accuracy", 0.5).with("loss", 1.0).with("samples", 10);
  terminal.hear(evaluation);
  terminal.finish();
  terminal.finish();
  EXPECT_EQ(out, round_line(round_event(1)) + "\n" + describe(evaluation) + "\n" +
                     round_line(round_event(3)) + "\n");
}

TEST(Terminal, ALongMeasurementIsShownInTheBlockAndOnceInAPipe) {
  const auto measuring = [](std::int64_t samples, double seconds) {
    return Event("measuring").with("samples", samples).with("of", 5000).with("seconds", seconds);
  };
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kPlain, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  for (int seconds = 1; seconds < 10; ++seconds) terminal.hear(measuring(100 * seconds, seconds));
  EXPECT_EQ(out, "measuring the test set: 300 of 5000 samples, 3 s\n");
  out.clear();
  terminal.hear(Event("validation").with("step", 5).with("best", true));
  for (int seconds = 1; seconds < 10; ++seconds) terminal.hear(measuring(100 * seconds, seconds));
  EXPECT_THAT(out, HasSubstr("\nmeasuring the test set: 300 of 5000 samples, 3 s\n"));

  StatusBlock block;
  block.hear(round_event(7));
  block.hear(measuring(1280, 0.6));
  EXPECT_EQ(block.lines(80).front(), "measuring the test set: 1280 of 5000 samples, 1 s");
  block.hear(round_event(8));
  EXPECT_EQ(block.lines(80).size(), 2U);
}

TEST(Terminal, WhoIsRefusedIsNamedOnce) {
  for (const OutputMode mode : {OutputMode::kPlain, OutputMode::kLive}) {
    std::string out;
    ManualClock clock;
    Terminal terminal(mode, 80, clock, [&](std::string_view text) {
      out += text;
      return true;
    });
    const auto misconduct = [](const std::string& text) {
      return Event("misconduct").with("peer", std::string("b81f")).with("text", text);
    };
    terminal.hear(Event("join_refused")
                      .with("peer", std::string("b81f"))
                      .with("reason", std::string("no member made the ticket")));
    terminal.hear(misconduct("peer b81f: refused proof, no member made the ticket (score 25)"));
    EXPECT_EQ(out, "refused b81f: no member made the ticket\n");
    terminal.hear(misconduct("peer b81f: malformed message, no such type (score 50)"));
    EXPECT_THAT(out, HasSubstr("malformed message"));
  }
}

TEST(Terminal, WhatOthersWroteDoesNotSteerIt) {
  for (const OutputMode mode : {OutputMode::kPlain, OutputMode::kLive}) {
    std::string out;
    ManualClock clock;
    Terminal terminal(mode, 80, clock, [&](std::string_view text) {
      out += text;
      return true;
    });
    terminal.hear(Event("note").with("text", std::string("title\x1b]0;mine\x07 \xc2\x9b"
                                                         "2J")));
    terminal.say("files: a\x1b[2J");
    EXPECT_NE(out.find("title\\x1b]0;mine\\x07 \\x9b2J"), std::string::npos) << out;
    EXPECT_NE(out.find("files: a\\x1b[2J"), std::string::npos) << out;
    EXPECT_EQ(out.find('\x07'), std::string::npos);
  }
}

TEST(Terminal, JsonWritesEveryEvent) {
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kJson, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  terminal.hear(round_event(1));
  terminal.say("for people");
  EXPECT_EQ(out, to_json(round_event(1)) + "\n");
}

TEST(Terminal, LiveRedrawsInPlaceAtMostTenTimesASecond) {
  std::string out;
  ManualClock clock;
  Terminal terminal(OutputMode::kLive, 80, clock, [&](std::string_view text) {
    out += text;
    return true;
  });
  terminal.hear(round_event(1));
  EXPECT_THAT(out, HasSubstr("round 1/400"));
  out.clear();
  terminal.hear(round_event(2));
  EXPECT_EQ(out, "");  // too soon
  clock.advance(std::chrono::milliseconds(150));
  terminal.hear(round_event(3));
  EXPECT_EQ(out.substr(0, 7), "\x1b[2F\x1b[J");  // two lines up, and clear
  EXPECT_THAT(out, HasSubstr("round 3/400"));
  out.clear();
  terminal.hear(Event("note").with("text", std::string("news")));
  EXPECT_THAT(out, HasSubstr("\x1b[Jnews\nround 3/400"));  // news at once, above the block
}

TEST(StatusBlock, SaysWhomTheRoundWaitsForUntilItGoesOn) {
  StatusBlock block;
  const auto waiting = [](const char* kind) {
    return Event(kind).with("text", std::string("round 8 waits for peer b81f for 2.3 s"));
  };
  block.hear(waiting("waiting"));
  EXPECT_THAT(block.lines(80), ElementsAre("round 8 waits for peer b81f for 2.3 s"));
  block.hear(round_event(7));
  EXPECT_EQ(block.lines(80).size(), 2U);
  block.hear(waiting("overdue"));
  EXPECT_THAT(block.lines(80).front(), HasSubstr("b81f"));
  block.hear(waiting("waiting_over"));
  EXPECT_EQ(block.lines(80).size(), 2U);
}

TEST(StatusBlock, ALossThatIsNoNumberIsCalledSo) {
  Event ruined("round");
  ruined.with("loss", -std::numeric_limits<double>::quiet_NaN())
      .with("accuracy", std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(round_line(ruined), HasSubstr("loss not a number"));
}

TEST(StatusBlock, LossesAreShortWhateverTheirSize) {
  EXPECT_EQ(loss_text(0.69314), "0.6931");
  EXPECT_EQ(loss_text(0.0), "0.0000");
  EXPECT_EQ(loss_text(1.298583568104030208e18), "1.299e+18");
  EXPECT_EQ(loss_text(2e-7), "2.000e-07");
  EXPECT_EQ(loss_text(-std::numeric_limits<double>::infinity()), "not a number");
}

TEST(Terminal, WhatWentWrongIsOnStandardErrorToo) {
  for (const OutputMode mode : {OutputMode::kPlain, OutputMode::kJson}) {
    std::string errors;
    ManualClock clock;
    Terminal terminal(
        mode, 80, clock, [](std::string_view) { return true; },
        [&](const std::string& line) { errors += line; });
    terminal.hear(Event("note").with("text", std::string("news")));
    EXPECT_EQ(errors, "");
    terminal.hear(Event("checkpoint_failed").with("text", std::string("no checkpoint: full")));
    EXPECT_EQ(errors, "weft: no checkpoint: full\n");
  }
}

// What was dropped is said, and the block that still stands is the one that is erased.
TEST(Terminal, ALiveBlockThatFoundNoRoomIsDrawnOverTheOneThatStands) {
  std::string out;
  bool room = true;
  ManualClock clock;
  Terminal terminal(OutputMode::kLive, 80, clock, [&](std::string_view text) {
    if (room) out += text;
    return room;
  });
  terminal.hear(round_event(1));
  room = false;
  for (int i = 0; i < 3; ++i) terminal.hear(Event("note").with("text", std::string("unseen")));
  room = true;
  out.clear();
  terminal.hear(Event("note").with("text", std::string("seen")));
  EXPECT_EQ(out.substr(0, 7), "\x1b[2F\x1b[J");
  EXPECT_THAT(out, HasSubstr("3 lines were not shown"));
  EXPECT_THAT(out, HasSubstr("seen\nround 1/400"));
}

}  // namespace
}  // namespace weft::status_block_test
